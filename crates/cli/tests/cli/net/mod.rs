//! `evener net`

mod exec;
mod link;
mod run;
