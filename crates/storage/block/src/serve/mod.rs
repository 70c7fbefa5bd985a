//! The parts of a server that do not depend on its protocol: a cache of decoded blocks, read-ahead, counters.
//!
//! | file | what it is for |
//! | --- | --- |
//! | `store.rs` | a range of the image as pieces of decoded blocks |
//! | `overlay_store.rs` | the same with an overlay, which is also written |
//! | `batch.rs` | several such ranges at once |
//! | `cache.rs` | decoded blocks in memory, and which thread decodes which |
//! | `prefix.rs` | whether it pays to decode only a prefix of a block |
//! | `read_ahead.rs` | which bytes a sequential reader will request next |
//! | `faults.rs` | what goes wrong, logged once and then counted |
//! | `metrics.rs` | what is counted, and its text for Prometheus |
//! | `status.rs` | one line about how a server is doing |

mod batch;
mod cache;
mod counter;
mod faults;
mod metrics;
mod overlay_store;
mod prefix;
mod read_ahead;
mod status;
mod store;

use evener_runtime::stream::CancelToken;

pub use batch::{PieceBytes, ReadBatch};
pub use cache::{Cache, DecodedBlock};
pub use counter::Counter;
pub use faults::FaultLog;
pub use metrics::{COMMANDS, ClientCounts, Described, Latency, Metrics, metrics_text};
pub use read_ahead::ReadAheadTracker;
pub use status::{RateMeter, Status};
pub use store::{Piece, ReadFailure, Store, Window};

/// The state shared by all threads of a server.
pub struct ServeContext {
    /// The image.
    pub store: Store,
    /// The maximum number of bytes to read ahead for each client or queue.
    pub read_ahead: u64,
    /// Ends the server.
    pub cancel: CancelToken,
}
