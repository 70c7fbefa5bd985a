//! TCP as the RFCs say it, one file each: scripts of what goes over the wire and when, in virtual time. Each names the
//! section that it checks.

#[allow(dead_code)]
#[path = "../tcp/network.rs"]
mod network;
mod script;

mod rfc1122;
mod rfc1191;
mod rfc2018;
mod rfc2883;
mod rfc3042;
mod rfc3168;
mod rfc3522;
mod rfc3708;
mod rfc4987;
mod rfc5482;
mod rfc5681;
mod rfc5961;
mod rfc6191;
mod rfc6298;
mod rfc6528;
mod rfc6582;
mod rfc6675;
mod rfc7323;
mod rfc8985;
mod rfc9293;
mod rfc9438;
mod rfc9937;
