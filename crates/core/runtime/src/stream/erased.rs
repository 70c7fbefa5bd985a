//! Service, source and sink of a stream behind trait objects, so that streams are compiled once for all services.
//!
//! The cost is one call through a pointer per part. In return, a program with ten services has one copy of the stream
//! engine, not ten.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use super::error::BoxError;
use super::exec::Executor;
use super::ports::{Sink, Source};
use crate::device::{DeviceError, Lane, OnDevice, Program, UnitLane};
use crate::service::{Need, Part, Service, Shape};
use crate::structure::Structure;

/// An input or an output.
pub(super) type Unit = Box<dyn Any + Send + Sync>;
type Scratch = Box<dyn Any + Send>;

pub(super) type AnySource = Box<dyn Source<AnyService, Error = BoxError>>;
pub(super) type AnySink<'k> = Box<dyn Sink<AnyService, Error = BoxError> + 'k>;

/// What runs parts of it.
pub(super) type Exec<'a> = Executor<'a, AnyService>;

/// A service of any type.
#[derive(Clone)]
pub(super) struct AnyService(Arc<dyn Erased>);

/// A service of a known type.
pub(super) struct Typed<S>(pub(super) S);

impl AnyService {
    pub(super) fn new<S: Service>(service: Arc<Typed<S>>) -> AnyService {
        AnyService(service)
    }

    fn typed<S: Service>(&self) -> &S {
        let typed: Option<&Typed<S>> = self.0.as_any().downcast_ref();
        &typed.expect("the ends of a stream are of its service").0
    }
}

/// A source of units of `S`.
pub(super) fn source<S: Service>(source: impl Source<S> + 'static) -> AnySource {
    Box::new(End(source, PhantomData::<fn(S)>))
}

/// A sink of units of `S`.
pub(super) fn sink<'k, S: Service>(sink: impl Sink<S> + 'k) -> AnySink<'k> {
    Box::new(End(sink, PhantomData::<fn(S)>))
}

/// A source or a sink of units of `S`.
struct End<S, T>(T, PhantomData<fn(S)>);

pub(super) fn typed<T: 'static>(unit: &Unit) -> &T {
    (**unit).downcast_ref().expect(OTHER)
}

pub(super) fn typed_mut<T: 'static>(unit: &mut Unit) -> &mut T {
    (**unit).downcast_mut().expect(OTHER)
}

const OTHER: &str = "units in a stream are of its service";

/// Calls `run` with units of a known type. Groups are small, so they have room on the stack.
fn with_typed<T: 'static, R>(units: &[&Unit], run: impl FnOnce(&[&T]) -> R) -> R {
    const ROOM: usize = 16;
    match units {
        [first, ..] if units.len() <= ROOM => {
            let mut room = [typed(first); ROOM];
            for (to, unit) in room.iter_mut().zip(units) {
                *to = typed(unit);
            }
            run(&room[..units.len()])
        }
        _ => run(&units.iter().map(|unit| typed(unit)).collect::<Vec<_>>()),
    }
}

/// What [`Service`] has, without its types.
trait Erased: Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn key(&self) -> String;
    fn input(&self) -> Unit;
    fn output(&self) -> Unit;
    fn scratch(&self) -> Scratch;
    fn prepare(&self, structure: &'static Structure);
    fn shapes(&self, private_cache: usize) -> Vec<Shape>;
    fn run(&self, part: &Part, units: (&Unit, &Unit), scratch: &mut Scratch) -> Result<(), String>;
    fn run_group(
        &self,
        part: &Part,
        units: (&[&Unit], &[&Unit]),
        scratch: &mut Scratch,
    ) -> Result<(), String>;
    fn needs(&self, unit: u64, part: &Part, needs: &mut Vec<Need>);
    fn device(&self) -> Option<&dyn OnDevice<Unit, Unit>>;
}

impl<S: Service> Erased for Typed<S> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn key(&self) -> String {
        self.0.key()
    }

    fn input(&self) -> Unit {
        Box::new(self.0.input())
    }

    fn output(&self) -> Unit {
        Box::new(self.0.output())
    }

    fn scratch(&self) -> Scratch {
        Box::new(self.0.scratch())
    }

    fn prepare(&self, structure: &'static Structure) {
        self.0.prepare(structure);
    }

    fn shapes(&self, private_cache: usize) -> Vec<Shape> {
        self.0.shapes(private_cache)
    }

    fn run(
        &self,
        part: &Part,
        (input, output): (&Unit, &Unit),
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        let scratch = (**scratch).downcast_mut().expect(OTHER);
        self.0.run(part, typed(input), typed(output), scratch)
    }

    fn run_group(
        &self,
        part: &Part,
        (inputs, outputs): (&[&Unit], &[&Unit]),
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        let scratch = (**scratch).downcast_mut().expect(OTHER);
        with_typed(inputs, |inputs| {
            with_typed(outputs, |outputs| {
                self.0.run_group(part, inputs, outputs, scratch)
            })
        })
    }

    fn needs(&self, unit: u64, part: &Part, needs: &mut Vec<Need>) {
        self.0.needs(unit, part, needs);
    }

    fn device(&self) -> Option<&dyn OnDevice<Unit, Unit>> {
        self.0.device().map(|_| self as _)
    }
}

impl<S: Service> Typed<S> {
    fn on_device(&self) -> &dyn OnDevice<S::Input, S::Output> {
        let work = self.0.device();
        work.expect("a service that devices compute always is one")
    }
}

impl<S: Service> OnDevice<Unit, Unit> for Typed<S> {
    fn program(&self) -> &'static Program {
        self.on_device().program()
    }

    fn most_units(&self) -> usize {
        self.on_device().most_units()
    }

    fn begin<'a>(
        &'a self,
        lane: Box<dyn Lane>,
    ) -> Result<Box<dyn UnitLane<Unit, Unit> + 'a>, DeviceError> {
        let lane = self.on_device().begin(lane)?;
        Ok(Box::new(TypedLane(lane)))
    }

    fn same(&self, one: &Unit, other: &Unit) -> bool {
        self.on_device().same(typed(one), typed(other))
    }

    fn is_right(&self, input: &Unit, output: &Unit) -> bool {
        self.on_device().is_right(typed(input), typed(output))
    }
}

struct TypedLane<'a, I, O>(Box<dyn UnitLane<I, O> + 'a>);

impl<I: 'static, O: 'static> UnitLane<Unit, Unit> for TypedLane<'_, I, O> {
    fn run(
        &mut self,
        inputs: &[&Unit],
        outputs: &[&Unit],
        limit: Duration,
    ) -> Result<(), DeviceError> {
        with_typed(inputs, |inputs| {
            with_typed(outputs, |outputs| self.0.run(inputs, outputs, limit))
        })
    }
}

impl Service for AnyService {
    type Input = Unit;
    type Output = Unit;
    type Scratch = Scratch;

    fn key(&self) -> String {
        self.0.key()
    }

    fn input(&self) -> Unit {
        self.0.input()
    }

    fn output(&self) -> Unit {
        self.0.output()
    }

    fn scratch(&self) -> Scratch {
        self.0.scratch()
    }

    fn prepare(&self, structure: &'static Structure) {
        self.0.prepare(structure);
    }

    fn shapes(&self, private_cache: usize) -> Vec<Shape> {
        self.0.shapes(private_cache)
    }

    fn run(
        &self,
        part: &Part,
        input: &Unit,
        output: &Unit,
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        self.0.run(part, (input, output), scratch)
    }

    fn run_group(
        &self,
        part: &Part,
        inputs: &[&Unit],
        outputs: &[&Unit],
        scratch: &mut Scratch,
    ) -> Result<(), String> {
        self.0.run_group(part, (inputs, outputs), scratch)
    }

    fn needs(&self, unit: u64, part: &Part, needs: &mut Vec<Need>) {
        self.0.needs(unit, part, needs);
    }

    fn device(&self) -> Option<&dyn OnDevice<Unit, Unit>> {
        self.0.device()
    }
}

impl<S: Service, T: Source<S>> Source<AnyService> for End<S, T> {
    type Error = BoxError;

    fn start(&mut self, service: &AnyService) {
        self.0.start(service.typed());
    }

    fn read(&mut self, unit: &mut Unit) -> Result<bool, BoxError> {
        self.0.read(typed_mut(unit)).map_err(Into::into)
    }

    fn units(&self) -> Option<u64> {
        self.0.units()
    }

    fn inline(&self) -> bool {
        self.0.inline()
    }

    fn may_wait(&self) -> bool {
        self.0.may_wait()
    }
}

impl<S: Service, T: Sink<S>> Sink<AnyService> for End<S, T> {
    type Error = BoxError;

    fn start(&mut self, service: &AnyService) -> Result<(), BoxError> {
        self.0.start(service.typed()).map_err(Into::into)
    }

    fn write(&mut self, unit: &Unit) -> Result<(), BoxError> {
        self.0.write(typed(unit)).map_err(Into::into)
    }

    fn finish(&mut self) -> Result<(), BoxError> {
        self.0.finish().map_err(Into::into)
    }

    fn abort(&mut self) {
        self.0.abort();
    }

    fn inline(&self) -> bool {
        self.0.inline()
    }

    fn may_wait(&self) -> bool {
        self.0.may_wait()
    }
}
