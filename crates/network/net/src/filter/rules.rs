//! Rules as they are written.
//!
//! ```text
//! rules  = rule { newline-or-; rule }          # what follows a # is a comment
//! rule   = action { what }
//! action = pass | drop | count | mirror FILE
//! what   = in | out | tcp | udp | icmp | arp | protocol N
//!        | from ADDRESS[/PREFIX] | to ADDRESS[/PREFIX] | sport N[-N] | dport N[-N] | flags FLAG{,FLAG}
//! FLAG   = [!]fin | [!]syn | [!]rst | [!]psh | [!]ack | [!]urg | [!]ece | [!]cwr
//! ```

use std::fs;
use std::io;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::Path;
use std::str::FromStr;

use thiserror::Error;

use super::{Action, Match, Protocol, Rule, Rules, Way};
use crate::device::Prefix;
use crate::wire::ip::protocol;
use crate::wire::tcp::flags;

const ACTIONS: &[&str] = &["pass", "drop", "count", "mirror"];
const FLAGS: [(&str, u8); 8] = [
    ("fin", flags::FIN),
    ("syn", flags::SYN),
    ("rst", flags::RST),
    ("psh", flags::PSH),
    ("ack", flags::ACK),
    ("urg", flags::URG),
    ("ece", flags::ECE),
    ("cwr", flags::CWR),
];

/// Why rules are none.
#[derive(Debug, Error)]
pub enum RuleError {
    /// What is written is wrong.
    #[error("{source_name}:{line}:{column}: {what}")]
    Wrong {
        /// The file, or `rules` for those that are written in the command.
        source_name: String,
        /// From 1 on.
        line: usize,
        /// Characters before it in the line, and 1.
        column: usize,
        /// What is wrong, and what would be right.
        what: String,
    },
    /// The file cannot be read.
    #[error("{path}: rules cannot be read there: {reason}; as it does not begin with one of {}, it is taken for the name of a file", ACTIONS.join(", "))]
    Read {
        /// The file.
        path: String,
        /// Why.
        reason: io::Error,
    },
}

impl Rules {
    /// Reads rules, or the file of rules with this name: a text that begins with an action is rules.
    ///
    /// # Errors
    /// [`RuleError`], which says where it is.
    pub fn open(text: &str) -> Result<Rules, RuleError> {
        let first = text.split([' ', '\t', '\n', ';']).next().unwrap_or("");
        if ACTIONS.contains(&first) {
            return Rules::parse("rules", text);
        }
        if text.trim().is_empty() {
            return Err(RuleError::Wrong {
                source_name: "rules".into(),
                line: 1,
                column: 1,
                what: format!("a rule is expected; there are {}", ACTIONS.join(", ")),
            });
        }
        let read = fs::read_to_string(Path::new(text)).map_err(|reason| RuleError::Read {
            path: text.into(),
            reason,
        })?;
        Rules::parse(text, &read)
    }

    fn parse(source_name: &str, text: &str) -> Result<Rules, RuleError> {
        let mut rules = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("");
            let mut at = 0;
            for part in line.split(';') {
                let rule = Words::new(part)
                    .rule()
                    .map_err(|(place, what)| RuleError::Wrong {
                        source_name: source_name.into(),
                        line: number + 1,
                        column: line[..at + place].chars().count() + 1,
                        what,
                    })?;
                rules.extend(rule);
                at += part.len() + 1;
            }
        }
        Ok(Rules(rules))
    }
}

impl FromStr for Rules {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Rules, RuleError> {
        Rules::open(text)
    }
}

/// Where in a rule something is wrong, and what.
type Wrong = (usize, String);

/// The words of a rule, with where they are.
struct Words<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Words<'a> {
    fn new(text: &'a str) -> Words<'a> {
        Words { text, at: 0 }
    }

    fn next(&mut self) -> Option<(usize, &'a str)> {
        let rest = &self.text[self.at..];
        let start = self.at + rest.len() - rest.trim_start().len();
        let word = self.text[start..].split_whitespace().next()?;
        self.at = start + word.len();
        Some((start, word))
    }

    /// What must follow the word before.
    fn value<T>(
        &mut self,
        expected: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, Wrong> {
        let Some((at, word)) = self.next() else {
            let end = self.text.trim_end().len();
            return Err((end, format!("{expected} is expected")));
        };
        read(word).ok_or_else(|| (at, format!("'{word}': {expected} is expected")))
    }

    /// None where there is none.
    fn rule(mut self) -> Result<Option<Rule>, Wrong> {
        let Some((at, word)) = self.next() else {
            return Ok(None);
        };
        let action = match word {
            "pass" | "count" => Action::Pass,
            "drop" => Action::Drop,
            "mirror" => Action::Mirror(self.value("the name of a file", |name| Some(name.into()))?),
            _ => {
                let actions = ACTIONS.join(", ");
                return Err((
                    at,
                    format!("'{word}' is not an action; there are {actions}"),
                ));
            }
        };
        let mut matches = Match::default();
        while let Some((at, word)) = self.next() {
            self.what(at, word, &mut matches)?;
        }
        if matches.flags.is_some() {
            matches
                .protocol
                .get_or_insert(Protocol::Number(protocol::TCP));
        }
        Ok(Some(Rule {
            text: self.text.split_whitespace().collect::<Vec<_>>().join(" "),
            action,
            matches,
        }))
    }

    fn what(&mut self, at: usize, word: &str, to: &mut Match) -> Result<(), Wrong> {
        let number = |number| Protocol::Number(number);
        let was_there = match word {
            "in" => to.way.replace(Way::In).is_some(),
            "out" => to.way.replace(Way::Out).is_some(),
            "tcp" => to.protocol.replace(number(protocol::TCP)).is_some(),
            "udp" => to.protocol.replace(number(protocol::UDP)).is_some(),
            "icmp" => to.protocol.replace(Protocol::Icmp).is_some(),
            "arp" => to.protocol.replace(Protocol::Arp).is_some(),
            "protocol" => {
                let value = self.value("a number from 0 to 255", |text| text.parse().ok())?;
                to.protocol.replace(number(value)).is_some()
            }
            "from" => to.source.replace(self.prefix()?).is_some(),
            "to" => to.destination.replace(self.prefix()?).is_some(),
            "sport" => to.source_port.replace(self.ports()?).is_some(),
            "dport" => to.destination_port.replace(self.ports()?).is_some(),
            "flags" => {
                let expected = "flags of TCP, as in syn,!ack,";
                to.flags
                    .replace(self.value(expected, read_flags)?)
                    .is_some()
            }
            _ => {
                let all = "in, out, tcp, udp, icmp, arp, protocol, from, to, sport, dport, flags";
                return Err((at, format!("'{word}' is nothing to match; there are {all}")));
            }
        };
        match was_there {
            true => Err((at, format!("'{word}' contradicts what is before it"))),
            false => Ok(()),
        }
    }

    fn prefix(&mut self) -> Result<Prefix, Wrong> {
        let expected = "an address or a prefix, as in 10.1.0.0/16,";
        self.value(expected, |text| match text.parse::<IpAddr>() {
            Ok(address) => Some(Prefix {
                address,
                len: if address.is_ipv4() { 32 } else { 128 },
            }),
            Err(_) => text.parse().ok(),
        })
    }

    fn ports(&mut self) -> Result<RangeInclusive<u16>, Wrong> {
        self.value("a port or a range, as in 8000-8099,", |text| {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            let range = first.parse().ok()?..=last.parse().ok()?;
            (!range.is_empty()).then_some(range)
        })
    }
}

/// Those that must be set, and those that must not.
fn read_flags(text: &str) -> Option<(u8, u8)> {
    let (mut set, mut clear) = (0, 0);
    for name in text.split(',') {
        let (to, name) = match name.strip_prefix('!') {
            Some(name) => (&mut clear, name),
            None => (&mut set, name),
        };
        *to |= FLAGS.iter().find(|(known, _)| *known == name)?.1;
    }
    (set & clear == 0).then_some((set, clear))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> String {
        Rules::parse("rules", text).expect_err(text).to_string()
    }

    #[test]
    fn rules_are_read() {
        let text = "drop in tcp to 10.1.0.0/16 dport 8000-8099 flags syn,!ack # no servers\n\n  count ; mirror a.pcapng from fd00::1 udp sport 53";
        let Rules(rules) = Rules::parse("rules", text).expect("rules");
        let texts: Vec<&str> = rules.iter().map(|rule| rule.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "drop in tcp to 10.1.0.0/16 dport 8000-8099 flags syn,!ack",
                "count",
                "mirror a.pcapng from fd00::1 udp sport 53"
            ]
        );
        assert_eq!(rules[0].action, Action::Drop);
        let expected = Match {
            way: Some(Way::In),
            protocol: Some(Protocol::Number(6)),
            destination: Some("10.1.0.0/16".parse().expect("a prefix")),
            destination_port: Some(8000..=8099),
            flags: Some((flags::SYN, flags::ACK)),
            ..Match::default()
        };
        assert_eq!(rules[0].matches, expected);
        assert_eq!(rules[1].action, Action::Pass);
        assert_eq!(rules[1].matches, Match::default());
        assert_eq!(rules[2].action, Action::Mirror("a.pcapng".into()));
        let source = rules[2].matches.source.expect("a prefix");
        assert_eq!(source.to_string(), "fd00::1/128");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (text, expected) in [
            (
                "dorp",
                "rules:1:1: 'dorp' is not an action; there are pass, drop, count, mirror",
            ),
            (
                "count\n drop  tpc",
                "rules:2:8: 'tpc' is nothing to match; there are in, out, tcp",
            ),
            ("count; drop dport x", "rules:1:19: 'x': a port or a range"),
            ("drop dport 9-8", "rules:1:12: '9-8': a port or a range"),
            ("drop from", "rules:1:10: an address or a prefix"),
            (
                "drop from 10.0.0.0/33",
                "rules:1:11: '10.0.0.0/33': an address",
            ),
            (
                "drop in out",
                "rules:1:9: 'out' contradicts what is before it",
            ),
            ("drop tcp protocol 17", "rules:1:10: 'protocol' contradicts"),
            (
                "drop flags syn,!syn",
                "rules:1:12: 'syn,!syn': flags of TCP",
            ),
            ("drop flags fin,sny", "rules:1:12: 'fin,sny': flags of TCP"),
            (
                "mirror # a.pcapng",
                "rules:1:7: the name of a file is expected",
            ),
            ("drop é; x", "rules:1:6: 'é' is nothing"),
            ("count; é", "rules:1:8: 'é' is not an action"),
        ] {
            let error = wrong(text);
            assert!(error.starts_with(expected), "{error}");
            assert!(!error.contains('\n'));
        }
    }

    #[test]
    fn any_words_are_read_without_a_panic() {
        use proptest::prelude::*;
        let words = "pass|drop|count|mirror|in|out|tcp|protocol|from|to|sport|dport|flags|syn,!ack|10.0.0.0/8|::1|80-90|é|;|#|\n|-|/|!";
        let words: Vec<&str> = words.split('|').collect();
        proptest!(|(picked in proptest::collection::vec(proptest::sample::select(words), 0..12))| {
            let text = picked.join(" ");
            // What is right is written as it was read.
            if let Ok(rules) = Rules::parse("rules", &text) {
                let texts: Vec<&str> = rules.0.iter().map(|rule| rule.text.as_str()).collect();
                let again = Rules::parse("rules", &texts.join(";"));
                prop_assert_eq!(again.expect("rules"), rules);
            }
        });
    }

    #[test]
    fn rules_come_from_a_file_too() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rules.txt");
        fs::write(&path, "# nothing\ndrop arp\nfoo\n").expect("a file");
        let text = path.to_str().expect("a name");
        let error = Rules::open(text).expect_err("a wrong rule").to_string();
        assert!(
            error.ends_with(
                "rules.txt:3:1: 'foo' is not an action; there are pass, drop, count, mirror"
            ),
            "{error}"
        );
        let error = Rules::open(" ").expect_err("no rule").to_string();
        assert!(
            error.starts_with("rules:1:1: a rule is expected"),
            "{error}"
        );
        let error = Rules::open("no-such-file")
            .expect_err("no file")
            .to_string();
        assert!(
            error.starts_with("no-such-file: rules cannot be read there: "),
            "{error}"
        );
    }
}
