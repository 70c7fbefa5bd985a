//! What programs that do not know of the stack see of it: which addresses are the stack's, errors, options and structures
//! as the kernel gives them.

mod errno;
pub mod options;
mod places;
pub mod sockaddr;
pub mod tcp_info;

pub use errno::errno;
pub use places::Places;
