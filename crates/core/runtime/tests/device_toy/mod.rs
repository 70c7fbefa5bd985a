//! A service whose units cores take a given time for, and devices theirs.

use std::convert::Infallible;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use evener_runtime::device::{
    Arg, Arithmetic, Buffer, Command, DeviceError, HostMemory, Lane, Launch, OnDevice, Program,
    UnitLane,
};
use evener_runtime::structure::SEQUENTIAL;
use evener_runtime::{Dispatch, Flow, Part, Service, Shape, Sink, Source, Structure, Work};

const BYTES: usize = 64;

/// A farm by another name: streams go by the flow.
static WHOLE: Structure = Structure {
    name: "whole",
    about: "",
    flow: Flow::Farm,
    dispatch: Dispatch::Fifo,
    automatic: true,
};

static PROGRAM: Program = Program {
    name: "toy",
    source: "",
    needs: Arithmetic::INTEGER,
};

/// Turns bytes into others.
pub struct Bytes {
    takes: Duration,
    /// What units under `sequential` are computed in.
    once: Mutex<()>,
}

impl Bytes {
    /// A core sleeps for so long.
    pub fn taking(takes: Duration) -> Bytes {
        Bytes {
            takes,
            once: Mutex::default(),
        }
    }
}

fn changed(byte: u8) -> u8 {
    byte.wrapping_mul(31).rotate_left(3) ^ 0x5a
}

impl Service for Bytes {
    type Input = Vec<u8>;
    type Output = Mutex<Vec<u8>>;
    type Scratch = ();

    fn key(&self) -> String {
        "bytes".into()
    }

    fn input(&self) -> Vec<u8> {
        vec![0; BYTES]
    }

    fn output(&self) -> Mutex<Vec<u8>> {
        Mutex::new(vec![0; BYTES])
    }

    fn scratch(&self) {}

    fn shapes(&self, _: usize) -> Vec<Shape> {
        let work = Work {
            ops: self.takes.as_secs_f64() * 1e9,
            ..Work::default()
        };
        vec![
            Shape::new(&SEQUENTIAL, vec![1], 1, work),
            Shape::new(&WHOLE, vec![1], 1, work),
        ]
    }

    fn run(
        &self,
        part: &Part,
        input: &Vec<u8>,
        output: &Mutex<Vec<u8>>,
        (): &mut (),
    ) -> Result<(), String> {
        let _alone = match part.structure == &SEQUENTIAL {
            true => Some(self.once.try_lock().map_err(|error| error.to_string())?),
            false => None,
        };
        thread::sleep(self.takes);
        *output.lock().unwrap() = input.iter().map(|&byte| changed(byte)).collect();
        Ok(())
    }

    fn device(&self) -> Option<&dyn OnDevice<Vec<u8>, Mutex<Vec<u8>>>> {
        Some(self)
    }
}

impl OnDevice<Vec<u8>, Mutex<Vec<u8>>> for Bytes {
    fn program(&self) -> &'static Program {
        &PROGRAM
    }

    fn most_units(&self) -> usize {
        64
    }

    fn begin<'a>(
        &'a self,
        mut lane: Box<dyn Lane>,
    ) -> Result<Box<dyn UnitLane<Vec<u8>, Mutex<Vec<u8>>> + 'a>, DeviceError> {
        let buffers = [lane.buffer(BYTES * 64)?, lane.buffer(BYTES * 64)?];
        Ok(Box::new(BytesLane { lane, buffers }))
    }

    fn same(&self, one: &Mutex<Vec<u8>>, other: &Mutex<Vec<u8>>) -> bool {
        *one.lock().unwrap() == *other.lock().unwrap()
    }
}

struct BytesLane {
    lane: Box<dyn Lane>,
    buffers: [Buffer; 2],
}

impl UnitLane<Vec<u8>, Mutex<Vec<u8>>> for BytesLane {
    fn run(
        &mut self,
        inputs: &[&Vec<u8>],
        outputs: &[&Mutex<Vec<u8>>],
        limit: Duration,
    ) -> Result<(), DeviceError> {
        let [from, to] = self.buffers;
        let host = |memory: &HostMemory| {
            let (from, mut to) = (memory.read(from), memory.write(to));
            let pairs = from.iter().zip(to.iter_mut());
            pairs.for_each(|(&from, to)| *to = changed(from));
        };
        let uploads = inputs.iter().enumerate().map(|(i, input)| Command::Upload {
            to: from,
            at: i * BYTES,
            from: input,
        });
        let mut commands: Vec<Command<'_>> = uploads.collect();
        let args = [Arg::Buffer(from), Arg::Buffer(to)];
        commands.push(Command::Launch(Launch {
            kernel: "toy_change",
            args: &args,
            groups: [1, 1],
            threads: [64, 1],
            units: inputs.len() as u32,
            host: &host,
        }));
        let mut held: Vec<_> = outputs.iter().map(|o| o.lock().unwrap()).collect();
        let downloads = held.iter_mut().enumerate();
        commands.extend(downloads.map(|(i, output)| Command::Download {
            from: to,
            at: i * BYTES,
            to: output,
        }));
        self.lane.run(&mut commands, limit)
    }
}

/// Units with their number in their bytes.
pub struct Counted {
    next: u64,
    units: u64,
}

impl Counted {
    pub fn new(units: u64) -> Counted {
        Counted { next: 0, units }
    }
}

fn unit(number: u64) -> Vec<u8> {
    let bytes = number.to_le_bytes().into_iter().cycle();
    bytes.take(BYTES).collect()
}

impl Source<Bytes> for Counted {
    type Error = Infallible;

    fn read(&mut self, input: &mut Vec<u8>) -> Result<bool, Infallible> {
        *input = unit(self.next);
        self.next += 1;
        Ok(self.next <= self.units)
    }

    fn units(&self) -> Option<u64> {
        Some(self.units)
    }

    fn inline(&self) -> bool {
        true
    }
}

/// What came out, in order.
#[derive(Default)]
pub struct Collect(pub Vec<Vec<u8>>);

impl Sink<Bytes> for &mut Collect {
    type Error = Infallible;

    fn write(&mut self, output: &Mutex<Vec<u8>>) -> Result<(), Infallible> {
        self.0.push(output.lock().unwrap().clone());
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Infallible> {
        Ok(())
    }

    fn inline(&self) -> bool {
        true
    }
}

/// What should come out.
pub fn results(units: u64) -> Vec<Vec<u8>> {
    let of = |number| unit(number).into_iter().map(changed).collect();
    (0..units).map(of).collect()
}
