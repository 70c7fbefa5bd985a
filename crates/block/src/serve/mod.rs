//! What any server of an image needs, whatever its protocol: blocks decoded once and kept, read-ahead, counts.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `store.rs` | a range of the image as pieces of decoded blocks |
//! | `over.rs` | the same with an overlay, which is also written |
//! | `round.rs` | several such ranges at once |
//! | `cache.rs` | decoded blocks in memory, and who decodes which |
//! | `fronts.rs` | whether decoding only the fronts of blocks pays |
//! | `ahead.rs` | which bytes a reader will want next |
//! | `faults.rs` | what goes wrong, told once and then counted |
//! | `metrics.rs` | what is counted |
//! | `status.rs` | how it is doing, in a line |

mod ahead;
mod cache;
mod counter;
mod faults;
mod fronts;
mod metrics;
mod over;
mod round;
mod status;
mod store;

use evener_runtime::stream::CancelToken;

pub use ahead::Ahead;
pub use cache::{Cache, Plain};
pub use counter::Counter;
pub use faults::Faults;
pub use metrics::{COMMANDS, Latency, Metrics};
pub use round::{Part, Round};
pub use status::{Pulse, Status};
pub use store::{Bad, Piece, Store, Window};

/// What a server serves.
pub struct Site {
    /// The image.
    pub store: Store,
    /// Most bytes to read ahead for each client or queue.
    pub ahead: u64,
    /// Ends it.
    pub cancel: CancelToken,
}
