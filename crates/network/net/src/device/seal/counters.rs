//! What a tunnel counts.

use super::super::Count;

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub sealed: u64,
    pub opened: u64,
    pub refused: u64,
    pub replayed: u64,
    pub malformed: u64,
    pub unsent: u64,
    pub reported: u64,
}

impl Counters {
    /// Appends all of them, and how many messages were rejected.
    pub(super) fn append(&self, rejected: u64, to: &mut Vec<Count>) {
        for (name, about, value) in [
            (
                "seal_sealed_total",
                "Packets that were sealed.",
                self.sealed,
            ),
            (
                "seal_opened_total",
                "Packets that were opened.",
                self.opened,
            ),
            (
                "seal_refused_total",
                "Packets that were changed, or of no session that there is.",
                self.refused,
            ),
            (
                "seal_replayed_total",
                "Packets that came before, or too late to tell.",
                self.replayed,
            ),
            (
                "seal_malformed_total",
                "What came and was nothing of a tunnel.",
                self.malformed,
            ),
            (
                "seal_rejected_total",
                "Messages that were made with another key.",
                rejected,
            ),
            (
                "seal_unsent_total",
                "Packets that were not sent: no peer had answered, or there was no way.",
                self.unsent,
            ),
            (
                "seal_reported_total",
                "Errors of datagrams that were sent, as the system or the network reports them.",
                self.reported,
            ),
        ] {
            to.push(Count {
                name,
                about,
                of: None,
                value,
            });
        }
    }
}
