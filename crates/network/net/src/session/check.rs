//! Which addresses a stack may have, and which gateways.

use std::net::IpAddr;

use rustix::thread::{CpuSet, sched_getaffinity};

use super::SessionError;
use crate::device::Prefix;

/// Refuses addresses that no machine has, those of the kernel's, and those that are given twice.
pub fn addresses(own: &[Prefix], kernel: Option<Prefix>) -> Result<(), SessionError> {
    for (at, prefix) in own.iter().enumerate() {
        let ip = prefix.address;
        let reason = if ip.is_loopback() {
            "addresses of loopback stay with the kernel"
        } else if !prefix.is_of_a_machine() {
            "it is not an address that a machine can have"
        } else if kernel.is_some_and(|kernel| kernel.address == ip) {
            "it is the kernel's, by the device's addr; the stack needs another of the same network"
        } else if own[..at].iter().any(|other| other.address == ip) {
            "the address is given twice"
        } else {
            continue;
        };
        return refuse(prefix, reason);
    }
    Ok(())
}

/// Refuses a processor that this process may not use.
pub fn core(core: Option<usize>) -> Result<(), SessionError> {
    let Some(core) = core else {
        return Ok(());
    };
    let all = sched_getaffinity(None).map_err(|error| SessionError::System(error.into()))?;
    match core < CpuSet::MAX_CPU && all.is_set(core) {
        true => Ok(()),
        false => Err(SessionError::Core(core)),
    }
}

/// Refuses gateways that are in no network of the stack's addresses.
pub fn gateways(gateways: &[IpAddr], own: &[Prefix]) -> Result<(), SessionError> {
    for (at, gateway) in gateways.iter().enumerate() {
        let is_local = |ip: &IpAddr| matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local());
        let reason = if own.iter().any(|own| own.address == *gateway) {
            "the gateway is the stack itself"
        } else if gateways[..at]
            .iter()
            .any(|other| other.is_ipv4() == gateway.is_ipv4())
        {
            "there is one gateway of IPv4 and one of IPv6 at most"
        } else if !is_local(gateway) && !own.iter().any(|own| own.contains(*gateway)) {
            "the gateway is in no network of the stack's addresses"
        } else {
            continue;
        };
        return refuse(gateway, reason);
    }
    Ok(())
}

fn refuse(address: &impl ToString, reason: &'static str) -> Result<(), SessionError> {
    Err(SessionError::Address {
        address: address.to_string(),
        reason,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefixes(texts: &[&str]) -> Vec<Prefix> {
        let read = |text: &&str| text.parse().expect("a prefix");
        texts.iter().map(read).collect()
    }

    #[test]
    fn addresses_are_those_of_machines() {
        let kernel = "10.1.0.1/24".parse().ok();
        for right in [
            &["10.1.0.2/24", "fd00::2/64"][..],
            &["10.1.0.2/32"],
            &["10.1.0.2/31"],
        ] {
            assert!(addresses(&prefixes(right), kernel).is_ok(), "{right:?}");
        }
        for (wrong, why) in [
            (&["127.0.0.2/8"][..], "loopback"),
            (&["::1/128"], "loopback"),
            (&["0.0.0.0/0"], "not an address"),
            (&["10.1.0.0/24"], "not an address"),
            (&["10.1.0.255/24"], "not an address"),
            (&["224.0.0.1/24"], "not an address"),
            (&["::/64"], "not an address"),
            (&["ff02::1/64"], "not an address"),
            (&["10.1.0.1/24"], "the kernel's"),
            (&["10.1.0.2/24", "10.1.0.2/16"], "twice"),
        ] {
            let error = addresses(&prefixes(wrong), kernel).expect_err("an error");
            assert!(error.is_request());
            assert!(error.to_string().contains(why), "{error}");
        }
    }

    #[test]
    fn gateways_are_near() {
        let own = prefixes(&["10.1.0.2/24", "fd00::2/64"]);
        let check = |texts: &[&str]| {
            let read = |text: &&str| text.parse().expect("an address");
            let all: Vec<IpAddr> = texts.iter().map(read).collect();
            gateways(&all, &own).map_err(|error| error.to_string())
        };
        assert_eq!(check(&["10.1.0.254", "fe80::1"]), Ok(()));
        for (wrong, why) in [
            (&["10.2.0.1"][..], "no network"),
            (&["10.1.0.2"], "itself"),
            (&["10.1.0.3", "10.1.0.4"], "at most"),
        ] {
            assert!(check(wrong).expect_err("an error").contains(why));
        }
    }
}
