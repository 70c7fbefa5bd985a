//! What all engines of a gateway have in common. None of it is locked while packets go through.

use std::sync::Arc;
use std::time::Instant;

use evener_sockets::Hosts;

use crate::access::Access;
use crate::engine::client::Client;
use crate::engine::directory::Directory;
use crate::engine::handle::{Handle, Message};
use crate::engine::http::request::Refused;
use crate::engine::source::pools::Pools;
use crate::engine::wait::{Ready, Token};
use crate::engine::{CLIENTS, Engine};
use crate::session::config::Config;

/// Of all engines.
#[derive(Debug)]
pub struct Shared {
    /// How they are set up.
    pub config: Config,
    /// What clients may ask for.
    pub access: Arc<Access>,
    /// By which names clients may call the gateway.
    pub hosts: Hosts,
    /// Origins that have the same streams.
    pub pools: Arc<Pools>,
    /// Which of them has which source.
    pub directory: Directory,
    /// When the gateway began.
    pub began: Instant,
}

impl Shared {
    /// Without engines.
    pub fn new(config: Config, access: Arc<Access>, pools: Arc<Pools>) -> Shared {
        let hosts = Hosts::new(&config.hosts, &config.listen);
        Shared {
            hosts: hosts.with_any_site(config.cross_origin),
            config,
            access,
            pools,
            directory: Directory::default(),
            began: Instant::now(),
        }
    }
}

impl Engine {
    /// The engine that has a source, if it is another one. A source that is nowhere is opened where there is most room.
    pub(super) fn elsewhere(&self, source: &str) -> Option<Arc<Handle>> {
        match self.by_key.contains_key(source) {
            true => None,
            false => self.shared.directory.elsewhere(source, self.number),
        }
    }

    /// A client goes to the engine that has what it asks for, with all that it has said.
    pub(super) fn hand_over(&mut self, number: u32, to: &Handle) {
        if let Some(client) = self.clients.try_remove(number as usize)
            && self.waiter.remove(client.stream()).is_ok()
        {
            to.send(Message::HandedOver(Box::new(client)));
        }
    }

    /// A client comes from another engine.
    pub(super) fn handed_over(&mut self, client: Client, now: Instant) {
        let entry = self.clients.vacant_entry();
        let number = entry.key() as u32;
        let token = Token::Client(number);
        if self.waiter.add_connection(token, client.stream()).is_err() {
            return;
        }
        entry.insert(client);
        if self.clients.len() > CLIENTS {
            let refused = Refused::busy(format!("there are {CLIENTS} clients already"));
            return self.refuse(number, &refused, true);
        }
        let ready = Ready {
            token,
            readable: true,
            writable: true,
        };
        self.hear(number, ready, now);
    }
}
