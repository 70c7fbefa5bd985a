//! The structures of the services that these tests make up.

// Each test uses some of them.
#![allow(dead_code, unused_imports)]

use evener_runtime::{Dispatch, Flow, Structure};

pub use evener_runtime::structure::{FARM, SEQUENTIAL};

const fn structure(name: &'static str, flow: Flow, dispatch: Dispatch) -> Structure {
    Structure {
        name,
        about: "",
        flow,
        dispatch,
        automatic: true,
    }
}

pub static BACKWARD: Structure = structure("backward", Flow::Divided, Dispatch::Fifo);
pub static TILED: Structure = structure("tiled", Flow::Divided, Dispatch::Steal);
pub static PIPELINE: Structure = structure("pipeline", Flow::Pipeline, Dispatch::Fifo);
pub static BACKWARD_CACHED: Structure = structure("backward-cached", Flow::Divided, Dispatch::Fifo);
pub static GROUPED: Structure = structure("grouped", Flow::Grouped, Dispatch::Steal);
pub static WAVEFRONT: Structure = structure("wavefront", Flow::Wavefront, Dispatch::Fifo);
/// One that no service offers.
pub static NOWHERE: Structure = structure("nowhere", Flow::Divided, Dispatch::Fifo);
