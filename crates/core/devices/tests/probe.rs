//! The probe knows right devices and wrong ones.

use evener_devices::c::CDevice;
use evener_devices::opencl::{self, OpenCl};
use evener_devices::probe::probe;
use evener_runtime::device::{Arithmetic, Device, DeviceError, DeviceInfo, Lane, Program};

#[test]
fn the_c_compiler_is_exact() {
    assert_eq!(probe(&CDevice::new()), Ok(Arithmetic::ALL));
}

#[test]
fn pocl_is_exact() {
    let Ok(found) = opencl::list() else {
        evener_testing::skip("no OpenCL; install pocl-opencl-icd");
        return;
    };
    for found in found {
        let device = OpenCl::open(found).unwrap();
        let begin = std::time::Instant::now();
        let exact = probe(&device).unwrap();
        println!("{}: {exact:?} in {:?}", device.info.model, begin.elapsed());
        if device.info.driver.contains("Portable Computing Language") {
            assert_eq!(exact, Arithmetic::ALL);
        }
    }
}

/// A device whose compiler changes programs.
#[derive(Debug)]
struct Changed {
    device: CDevice,
    change: fn(&str) -> String,
}

impl Device for Changed {
    fn info(&self) -> &DeviceInfo {
        self.device.info()
    }

    fn lane(&self, program: &Program) -> Result<Box<dyn Lane>, DeviceError> {
        let source = (self.change)(program.source);
        assert_ne!(source, program.source);
        self.device.lane(&Program {
            source: source.leak(),
            ..*program
        })
    }
}

/// A kernel's text with something in place of another thing that is in it.
fn replaced(source: &str, this: &str, by: &str) -> String {
    assert!(source.contains(this), "{this}");
    source.replace(this, by)
}

fn flushing(source: &str) -> String {
    let flush = "
static inline float probe_flush(float x) { return fabsf(x) < 1.17549435e-38f ? copysignf(0.0f, x) : x; }
#undef AS_FLOAT
#undef AS_UINT
#define AS_FLOAT(u) probe_flush(evener_as_float(u))
#define AS_UINT(x) evener_as_uint(probe_flush(x))
";
    format!("{flush}{source}")
}

#[test]
fn wrong_devices_are_found() {
    let all = Arithmetic::ALL;
    let without = |of: &[fn(&mut Arithmetic) -> &mut bool]| {
        let mut exact = all;
        of.iter().for_each(|of| *of(&mut exact) = false);
        exact
    };
    type Case = (&'static str, fn(&str) -> String, Arithmetic);
    let cases: [Case; 11] = [
        (
            "an fma that is not fused",
            |source| format!("#undef FMA\n#define FMA(a, b, c) ((a) * (b) + (c))\n{source}"),
            without(&[|exact| &mut exact.fma]),
        ),
        (
            "an fma that is rounded twice",
            |source| {
                let fma = "#undef FMA\n#define FMA(a, b, c) (float)((double)(a) * (double)(b) + (double)(c))\n";
                format!("{fma}{source}")
            },
            without(&[|exact| &mut exact.fma]),
        ),
        (
            "a contracted sum",
            |source| replaced(source, "x * y + z", "FMA(x, y, z)"),
            without(&[|exact| &mut exact.float]),
        ),
        (
            "a simplified sum",
            |source| replaced(source, "(x + y) - x", "y"),
            without(&[|exact| &mut exact.float]),
        ),
        (
            "another order",
            |source| replaced(source, "(x + y) + z", "x + (y + z)"),
            without(&[|exact| &mut exact.float]),
        ),
        (
            "subnormals flushed",
            flushing,
            without(&[
                |exact| &mut exact.float,
                |exact| &mut exact.fma,
                |exact| &mut exact.divide,
                |exact| &mut exact.sqrt,
                |exact| &mut exact.convert,
            ]),
        ),
        (
            "division by a reciprocal",
            |source| replaced(source, "x / y", "x * (1.0f / y)"),
            without(&[|exact| &mut exact.divide]),
        ),
        (
            "a constant's reciprocal",
            |source| replaced(source, "z / 255.0f", "z * (1.0f / 255.0f)"),
            without(&[|exact| &mut exact.divide]),
        ),
        (
            "a root that is not correctly rounded",
            |source| {
                replaced(
                    source,
                    "SQRT(AS_FLOAT(c[i]))",
                    "(1.0f / SQRT(1.0f / AS_FLOAT(c[i])))",
                )
            },
            without(&[|exact| &mut exact.sqrt]),
        ),
        (
            "half away from zero",
            |source| format!("#undef RINT\n#define RINT(x) roundf(x)\n{source}"),
            without(&[|exact| &mut exact.convert]),
        ),
        (
            "sums that lose one",
            |source| {
                replaced(
                    source,
                    "ATOMIC_ADD(sums + (x >> 26), x)",
                    "sums[x >> 26] = x",
                )
            },
            without(&[|exact| &mut exact.integer]),
        ),
    ];
    for (name, change, exact) in cases {
        let device = Changed {
            device: CDevice::new(),
            change,
        };
        assert_eq!(probe(&device), Ok(exact), "{name}");
    }
}
