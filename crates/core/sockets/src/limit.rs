//! How many files a process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit of open files to the most that the system allows, since each client is one.
pub fn raise_file_limit() {
    let found = getrlimit(Resource::Nofile);
    let wanted = Rlimit {
        current: found.maximum,
        maximum: found.maximum,
    };
    let _ = setrlimit(Resource::Nofile, wanted);
}
