//! A plane as cores compute it, from bytes to bytes: what a simulated device calls.

use crate::exec::service::{FilterService, Scratch};
use crate::frame::Samples;

/// A plane of a service with memory to compute it in.
pub(super) struct PlaneHost<'a> {
    service: &'a FilterService,
    index: usize,
    /// Made when it first computes.
    memory: Option<(Samples, Samples, Scratch)>,
}

impl<'a> PlaneHost<'a> {
    pub fn new(service: &'a FilterService, index: usize) -> Self {
        PlaneHost {
            service,
            index,
            memory: None,
        }
    }

    /// Computes the plane of `input` into `output`, both its bytes.
    pub fn compute(&mut self, input: &[u8], output: &mut [u8]) {
        let formats = (self.service.input_format(), self.service.output_format());
        let (from, to, scratch) = self.memory.get_or_insert_with(|| {
            let [from, to] = [formats.0, formats.1]
                .map(|format| Samples::new(format.plane_size(self.index), format.depth));
            (from, to, Scratch::default())
        });
        from.bytes_mut().copy_from_slice(input);
        self.service.compute_plane(self.index, from, to, scratch);
        output.copy_from_slice(&to.bytes());
    }
}
