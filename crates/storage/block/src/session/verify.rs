//! Verifying an image.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::sync::Arc;

use evener_runtime::Runtime;
use evener_runtime::stream::Report;
use serde::Serialize;

use super::{OpenOptions, Options, SessionError, open, stream};
use crate::block::Check;
use crate::check::{BadBlock, BlockSource, CountSink, Decode, Kind, Purpose};
use crate::error::Error;
use crate::hash::{Hash, Root};
use crate::image::Image;
use crate::merged::Merged;

/// An image that can be verified.
pub struct VerifySession {
    image: Arc<Image>,
    source: BlockSource,
    service: Decode,
}

/// The result of verification. `Display` prints some readable lines, `Serialize` is for programs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verified {
    /// The image.
    pub name: String,
    /// Its format.
    pub format: &'static str,
    /// Whether every block was checked and is good, and so are the root hash and the rest of the file.
    pub good: bool,
    /// Whether verification was cancelled before its end.
    pub cancelled: bool,
    /// The number of good blocks by kind of check: `nothing` for those without a checksum, `zero` for those that take
    /// no space or must be zeros.
    pub checked: BTreeMap<&'static str, u64>,
    /// Bad blocks, at most ten thousand.
    pub bad: Vec<BadBlock>,
    /// The total number of bad blocks.
    pub bad_count: u64,
    /// The root hash stored in the image.
    pub root: Option<Hash>,
    /// Whether it matches the hashes in the image. If all blocks are good, it is then the hash of the image.
    pub root_good: Option<bool>,
    /// Problems of the file that do not affect the bytes of the image.
    pub faults: Vec<String>,
}

/// Verifies `input`: every block is decoded and compared with its stored checksum or hash.
///
/// # Errors
/// The input cannot be read, is damaged, or is not supported.
pub fn verify(input: &OsStr, options: OpenOptions) -> Result<VerifySession, SessionError> {
    let image = open(input, &options)?;
    let merged = Merged::new(Arc::clone(&image), None);
    let service = Decode::new(merged.clone(), Purpose::Verify);
    Ok(VerifySession {
        source: BlockSource::new(merged).with_findings(service.findings()),
        service,
        image,
    })
}

impl VerifySession {
    /// The size of the image in bytes.
    pub fn bytes(&self) -> u64 {
        self.image.size()
    }

    /// Runs until every block is verified, or it is cancelled.
    ///
    /// # Errors
    /// The file cannot be read, or changed meanwhile. Bad blocks are not errors here.
    pub fn run(
        self,
        runtime: &Runtime,
        options: Options<'_>,
    ) -> Result<(Verified, Report), SessionError> {
        let (first_error, findings) = (self.service.first_error(), self.service.findings());
        let sink = CountSink::default();
        let count = sink.count.clone();
        let parts = (self.source, self.service, sink);
        let report = stream(runtime, options, (&first_error, &count), parts)?;
        self.image.unchanged()?;
        let root = self.image.root();
        let computed = match report.cancelled {
            true => None,
            false => root_of(&self.image)?,
        };
        let root_good = root.zip(computed).map(|(said, computed)| said == computed);
        let (bad, bad_count) = findings.bad_blocks();
        let faults = match report.cancelled {
            true => Vec::new(),
            false => self.image.faults()?,
        };
        let sound = bad_count == 0 && root_good != Some(false) && faults.is_empty();
        let verified = Verified {
            name: self.image.file().name().to_owned(),
            format: self.image.format().name,
            good: sound && !report.cancelled,
            cancelled: report.cancelled,
            checked: findings.checked(),
            bad,
            bad_count,
            root,
            root_good,
            faults,
        };
        Ok((verified, report))
    }
}

/// The root over the hashes in an image, if it has any.
fn root_of(image: &Image) -> Result<Option<Hash>, Error> {
    let Some(leaves) = image.leaves() else {
        return Ok(None);
    };
    let mut root = Root::new(leaves.block);
    let mut at = 0;
    // Hashes lie in the order of the blocks, so several are read at once.
    let mut next = leaves.offset;
    let end = leaves.offset + u64::from(leaves.count) * Hash::LEN as u64;
    let mut some = Vec::new();
    let mut used = 0;
    while at < image.size() {
        let block = image.block(at)?;
        if let Check::Leaf(_) = block.check {
            if used == some.len() {
                some = image.file().bytes(next, (end - next).min(64 << 10))?;
                (next, used) = (next + some.len() as u64, 0);
            }
            let leaf = some.get(used..).and_then(<[u8]>::first_chunk);
            root.block(&Hash(leaf.copied().unwrap_or_default()));
            used += Hash::LEN;
        } else {
            root.zeros(block.len.div_ceil(leaves.block.into()));
        }
        at = block.start + block.len;
    }
    Ok(Some(root.finish(image.size())))
}

impl Verified {
    /// Whether no block that was read has a checksum.
    fn compares_nothing(&self) -> bool {
        let without = [Check::Nothing.name(), Check::Zero.name()];
        let mut checks = self.checked.keys();
        let none = checks.all(|check| without.contains(check));
        none && self.root.is_none() && !self.checked.is_empty()
    }

    /// How many blocks there are of each kind: `98 blocks match BLAKE3, 925 are zero`; with bad ones first.
    fn counts(&self) -> String {
        let mut counts = Vec::new();
        let blocks = |count| if count == 1 { "block" } else { "blocks" };
        if self.bad_count > 0 {
            counts.push(format!("{} bad {}", self.bad_count, blocks(self.bad_count)));
        }
        for (&check, &count) in &self.checked {
            let noun = match counts.is_empty() {
                true => format!("{} ", blocks(count)),
                false => String::new(),
            };
            let (one, more, what) = match check {
                _ if check == Check::Zero.name() => ("is", "are", "zero"),
                _ if check == Check::Nothing.name() => ("has", "have", "no checksum"),
                _ => ("matches", "match", check),
            };
            let verb = if count == 1 { one } else { more };
            counts.push(format!("{count} {noun}{verb} {what}"));
        }
        counts.join(", ")
    }
}

/// The most bad blocks that are listed for people.
const LISTED: usize = 20;

impl fmt::Display for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for bad in self.bad.iter().take(LISTED) {
            let BadBlock { at, len, what, .. } = bad;
            writeln!(
                f,
                "{}: bytes {at} to {}: the block {what}",
                self.name,
                at + len
            )?;
        }
        let more = self
            .bad_count
            .saturating_sub(self.bad.len().min(LISTED) as u64);
        if more > 0 {
            writeln!(f, "{}: and {more} more", self.name)?;
        }
        if self.root_good == Some(false) {
            writeln!(
                f,
                "{}: its hashes are not those that its root was made of",
                self.name
            )?;
        }
        for fault in &self.faults {
            writeln!(f, "{}: {fault}", self.name)?;
        }
        let readable = self.bad_count == 0 && self.root_good != Some(false);
        let all = |kind| self.bad_count > 0 && self.bad.iter().all(|bad| bad.kind == kind);
        let said = match (self.good, self.cancelled) {
            (_, true) => "not all was looked at",
            (true, _) if self.compares_nothing() => {
                let format = self.format;
                return write!(
                    f,
                    "{}: all of it can be read; {format} has no checksums, so nothing was compared",
                    self.name
                );
            }
            (true, _) => "good",
            (false, _) if readable => {
                "all of the image can be read, but the file is faulty; convert it or repair it before it is written to"
            }
            (false, _) if all(Kind::Unsupported) => "not all of it is supported; pack it again",
            (false, _) if all(Kind::Unreadable) => "not all of it can be read; see to its disk",
            (false, _) => "get the file again",
        };
        if !self.good && !self.cancelled {
            return write!(f, "{}: {}; {said}", self.name, self.counts());
        }
        write!(f, "{}: {said}", self.name)?;
        let counts = self.counts();
        if !counts.is_empty() {
            write!(f, ": {counts}")?;
        }
        if let (true, Some(root)) = (self.good, self.root) {
            write!(f, ", root {root}")?;
        }
        Ok(())
    }
}
