//! Graphs on devices give the bytes of their definition.

#[path = "../common/mod.rs"]
mod common;

mod commands;
mod graphs;
mod random;

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use evener_devices::c::CDevice;
use evener_devices::opencl::{self, OpenCl};
use evener_image::exec::service::FilterService;
use evener_image::graph::bind::Bound;
use evener_image::graph::plane::Port;
use evener_image::integer::Integer;
use evener_image::{Format, Frame, reference};
use evener_runtime::device::Device;
use evener_runtime::device::sim::SimDevice;
use evener_runtime::{Service, Simd};

/// Every device there is: the kernels on the C compiler and where OpenCL has a device, and what a simulated device
/// computes in their place.
static DEVICES: LazyLock<Vec<Arc<dyn Device>>> = LazyLock::new(|| {
    let sim = SimDevice::parse("sim:latency=0us").expect("a description");
    let mut devices: Vec<Arc<dyn Device>> = vec![Arc::new(CDevice::new()), Arc::new(sim)];
    match opencl::list().map(|found| found.into_iter().next()) {
        Ok(Some(found)) => devices.push(Arc::new(OpenCl::open(found).expect("a device"))),
        Ok(None) => eprintln!("without OpenCL, which has no device; install pocl-opencl-icd"),
        Err(error) => eprintln!("without OpenCL: {error}; install pocl-opencl-icd"),
    }
    devices
});

const LIMIT: Duration = Duration::from_secs(100);

fn service(bound: &Bound, text: &str) -> FilterService {
    FilterService::new(bound, text.into(), 256 << 10, Simd::detect())
}

/// A frame of random samples.
fn random(format: &Format, seed: u32) -> Frame {
    let mut frame = Frame::new(format);
    common::fill(&mut frame, seed);
    frame
}

/// An output that held another frame, but for planes whose result is known.
fn used(service: &FilterService, bound: &Bound) -> Frame {
    let mut output = service.output();
    for (p, plane) in bound.planes.iter().enumerate() {
        if !matches!(plane.result, Port::Constant(_)) {
            output.plane_bytes_mut(p).fill(0x55);
        }
    }
    output
}

/// Computes frames on a device, as many at a time as it says, and returns the results.
fn on_device(
    device: &dyn Device,
    service: &FilterService,
    bound: &Bound,
    inputs: &[Frame],
) -> Vec<Frame> {
    let on = service.device().expect("a graph for devices");
    let lane = device.lane(on.program()).expect("a lane");
    let mut lane = on.begin(lane).expect("memory");
    let outputs: Vec<Frame> = inputs.iter().map(|_| used(service, bound)).collect();
    let all: (Vec<&Frame>, Vec<&Frame>) = inputs.iter().zip(&outputs).unzip();
    let most = on.most_units();
    for (inputs, outputs) in all.0.chunks(most).zip(all.1.chunks(most)) {
        lane.run(inputs, outputs, LIMIT).expect("a run");
    }
    outputs
}

/// Compares the frames that every device gives for `inputs` with the definition.
fn compare(bound: &Bound, text: &str, inputs: &[Frame]) -> Result<(), String> {
    let depth = bound.input.depth;
    let mut planes = bound.planes.iter();
    if planes.any(|graph| Integer::of(graph, depth).is_some()) {
        // Cores compute it, in integers.
        assert!(service(bound, text).device().is_none());
        return Ok(());
    }
    let service = service(bound, text);
    let expected: Vec<_> = inputs.iter().map(|f| reference::frame(bound, f)).collect();
    for device in DEVICES.iter() {
        let got = on_device(&**device, &service, bound, inputs);
        for (i, (got, expected)) in got.iter().zip(&expected).enumerate() {
            for (p, expected) in expected.iter().enumerate() {
                let got = got.plane_bytes(p);
                if let Some(at) = (0..expected.len()).find(|&at| got[at] != expected[at]) {
                    let row = bound.planes[p].size.w as usize * bound.output.depth.bytes();
                    return Err(format!(
                        "{text} on {}, {}: frame {i}, plane {p}, row {} byte {} is {:#x}, not {:#x}",
                        bound.input,
                        device.info().name,
                        at / row,
                        at % row,
                        got[at],
                        expected[at],
                    ));
                }
            }
        }
    }
    Ok(())
}
