//! The source of an output. The output must not overwrite it, and must not be more readable.
#![forbid(unsafe_code)]

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::SystemTime;

use crate::error::Error;
use crate::system::FileId;

/// The rights of a new file before the umask.
const ALL: u32 = 0o666;
/// The rights that the creating process needs.
const OWNER: u32 = 0o600;
/// The rights that a copy has from its source.
const KEPT: u32 = 0o777;

/// The file that an output is made from, or two files. The output must be a different file, with at most their
/// permissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceFile {
    id: Option<FileId>,
    other: Option<FileId>,
    mode: u32,
    /// The rights of the source itself, and when it was changed last.
    own: Option<(u32, Option<SystemTime>)>,
    /// When the output was changed last, if that is not now.
    modified: Option<SystemTime>,
}

impl Default for SourceFile {
    /// No source.
    fn default() -> SourceFile {
        SourceFile {
            id: None,
            other: None,
            mode: ALL,
            own: None,
            modified: None,
        }
    }
}

impl SourceFile {
    /// Creates a source from its metadata. Pipes and terminals have no permissions of their own and limit nothing.
    pub fn of(metadata: &Metadata) -> SourceFile {
        let id = FileId::of(metadata);
        let mode = id.map_or(ALL, |_| OWNER | ALL & metadata.mode());
        SourceFile {
            id,
            other: None,
            mode,
            own: id.map(|_| (KEPT & metadata.mode(), metadata.modified().ok())),
            modified: None,
        }
    }

    /// Marks the output as another form of this source: it gets the permissions of the source, less the umask, and
    /// its modification time. A source without permissions, such as a pipe, passes on neither.
    #[must_use]
    pub fn kept(self) -> SourceFile {
        match self.own {
            Some((mode, modified)) => SourceFile {
                mode,
                modified,
                ..self
            },
            None => self,
        }
    }

    /// Adds another source of the same output.
    pub fn and(self, another: SourceFile) -> SourceFile {
        SourceFile {
            id: self.id,
            other: another.id,
            mode: self.mode & another.mode,
            own: None,
            modified: None,
        }
    }

    /// The identity of the source.
    pub fn id(&self) -> Option<FileId> {
        self.id
    }

    /// The permissions of a new output, before the umask. The owner may always read and write it, unless it is
    /// [kept](SourceFile::kept). Others have at most their permissions on the source.
    pub fn mode(&self) -> u32 {
        self.mode
    }

    /// The modification time for the output.
    pub fn modified(&self) -> Option<SystemTime> {
        self.modified
    }

    /// Checks that the output `id` is not the source. `name` is its name in messages.
    ///
    /// # Errors
    /// The output is the source.
    pub fn exclude(&self, id: Option<FileId>, name: &str) -> Result<(), Error> {
        match id {
            Some(_) if id == self.id || id == self.other => {
                Err(Error::SameFile { name: name.into() })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use evener_testing::Folder;

    use super::*;

    #[test]
    fn others_may_do_no_more_than_with_the_source() {
        let folder = Folder::new();
        let path = folder.file("source", "");
        for (mode, output) in [
            (0o600, 0o600),
            (0o400, 0o600),
            (0o640, 0o640),
            (0o755, 0o644),
            (0o666, 0o666),
        ] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let source = SourceFile::of(&fs::metadata(&path).unwrap());
            assert_eq!(source.mode(), output, "{mode:o}");
            assert_eq!(source.kept().mode(), mode, "{mode:o}");
            assert_eq!(source.modified(), None);
            let changed = fs::metadata(&path).unwrap().modified().unwrap();
            assert_eq!(source.kept().modified(), Some(changed));
        }
        let of = |mode| {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            SourceFile::of(&fs::metadata(&path).unwrap())
        };
        let both = of(0o664).and(of(0o640));
        assert_eq!(both.mode(), 0o640);
        let image = SourceFile::of(&fs::metadata("/").unwrap());
        assert!(image.and(both).exclude(both.id(), "out").is_err());
        let null = SourceFile::of(&fs::metadata("/dev/null").unwrap());
        assert_eq!(null, SourceFile::default());
        assert_eq!(null.kept(), null);
    }
}
