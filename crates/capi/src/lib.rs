//! libevener: the functions for C. `include/evener.h` is the header; docs/c.md is the manual.
//!
//! No panic leaves a function: it becomes [`Status::Panicked`]. A function that fails sets the thread's
//! [`evener_last_error`], one line of text.

#[allow(unsafe_code)]
mod bytes;
#[allow(unsafe_code)]
mod chunks;
#[allow(unsafe_code)]
mod crypt;
mod format;
#[allow(unsafe_code)]
mod graph;
#[allow(unsafe_code)]
mod memory;
#[allow(unsafe_code)]
mod secret;
mod status;
#[allow(unsafe_code)]
mod stream;
#[allow(unsafe_code)]
mod version;
#[allow(unsafe_code)]
mod workers;

pub use chunks::{
    EVENER_CHUNK, EVENER_TAG, FileKey, evener_chunks_open, evener_chunks_seal,
    evener_file_key_free, evener_file_key_new, evener_file_key_open, evener_header_size,
};
pub use crypt::{
    evener_ctr, evener_decrypt, evener_decrypted_size, evener_encrypt, evener_encrypted_size,
};
pub use format::{Chroma, Depth, Format};
pub use graph::{Graph, evener_graph_free, evener_graph_new, evener_graph_output};
pub use memory::Plane;
pub use secret::{
    EVENER_KEY, Secret, evener_secret_free, evener_secret_load, evener_secret_of_key,
    evener_secret_of_passphrase,
};
pub use status::Status;
pub use stream::{
    Options, Stream, evener_stream_end, evener_stream_free, evener_stream_open, evener_stream_pull,
    evener_stream_push,
};
pub use version::{EVENER_ABI_VERSION, evener_abi_version, evener_last_error, evener_version};
pub use workers::{Workers, evener_workers_free, evener_workers_new};
