//! HTTP: requests, what is served, and what responses say.

pub(super) mod answer;
pub(super) mod request;
pub(super) mod response;
pub(super) mod status;
