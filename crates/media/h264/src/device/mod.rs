//! Motion search on devices: the pass of a picture that needs no neighbours and nothing that was decided.
//!
//! A lane keeps the pictures that the next one is searched in, so that each picture goes up once where there is one lane.
//! What comes down is what was found, 32 bytes for each macroblock and reference.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `lane.rs` | a lane that searches pictures |
//! | `words.rs` | what a picture is on a device, and what is found as words |
//! | `host.rs` | the same on cores, for simulated devices |
//! | `search.c` | the kernels |

mod host;
mod lane;
#[cfg(test)]
mod tests;
mod words;

use evener_files::unpoisoned;
use evener_runtime::device::{Arithmetic, DeviceError, Lane, OnDevice, Program, UnitLane};

use crate::encoder::Encoder;
use crate::service::EncodeService;
use crate::unit::{Coded, InputFrame};
use lane::SearchLane;

/// The kernels.
static PROGRAM: Program = Program {
    name: "search",
    source: include_str!("search.c"),
    needs: Arithmetic::INTEGER,
};

impl OnDevice<InputFrame, Coded> for EncodeService {
    fn program(&self) -> &'static Program {
        &PROGRAM
    }

    fn begin<'a>(
        &'a self,
        lane: Box<dyn Lane>,
    ) -> Result<Box<dyn UnitLane<InputFrame, Coded> + 'a>, DeviceError> {
        Ok(Box::new(SearchLane::new(self.encoder(), lane)?))
    }

    fn is_right(&self, input: &InputFrame, _: &Coded) -> bool {
        is_right(self.encoder(), input.number)
    }
}

/// Whether a core finds the same in picture `number` as what was found.
fn is_right(encoder: &Encoder, number: u64) -> bool {
    let picture = encoder.picture(number);
    let (columns, rows) = (encoder.geometry().columns, encoder.geometry().rows);
    let cells = columns.div_ceil(2);
    (0..rows.div_ceil(2)).all(|line| {
        let found = unpoisoned(picture.found[line].read());
        let estimates = unpoisoned(picture.estimates[line].read());
        // What lies outside the picture is not searched, and stays as it is.
        let mut by_core = (found.to_vec(), estimates.to_vec());
        let (again, anew) = (&mut by_core.0, &mut by_core.1);
        encoder.search_line(number, (line, 0..cells), &picture, (again, anew));
        by_core.0 == *found && by_core.1 == *estimates
    })
}
