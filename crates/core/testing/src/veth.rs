//! A pair of interfaces of Ethernet, in a network namespace of a test.

use std::process::Command;

/// Runs `ip` with these arguments, and says whether it did what it should.
pub fn ip(arguments: &str) -> bool {
    Command::new("ip")
        .args(arguments.split(' '))
        .status()
        .is_ok_and(|status| status.success())
}

/// Makes a pair of interfaces: `v0` for a device, and `v1` for the kernel, which has 10.1.0.1 there. False, and aloud, if it
/// cannot be made.
///
/// # Panics
/// If it cannot be set up.
pub fn pair() -> bool {
    if !ip("link add v0 type veth peer name v1") {
        crate::skip("no pair of veth can be made here");
        return false;
    }
    assert!(ip("addr add 10.1.0.1/24 dev v1") && ip("link set v0 up") && ip("link set v1 up"));
    true
}

/// Has the kernel complete the checksums of what it sends through `v1`. False, and aloud, if it cannot be told.
pub fn complete_checksums() -> bool {
    // ETHTOOL_STXCSUM by SIOCETHTOOL.
    let script = "import array, fcntl, socket, struct\n\
        value = array.array('I', [0x17, 0])\n\
        request = struct.pack('16sP', b'v1', value.buffer_info()[0])\n\
        fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8946, request)";
    let done = Command::new("python3").args(["-c", script]).status();
    let done = done.is_ok_and(|status| status.success());
    if !done {
        crate::skip("python3 cannot set the interface here");
    }
    done
}
