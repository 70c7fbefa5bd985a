//! How long requests to an NBD server may be (`NBD_INFO_BLOCK_SIZE`).

use crate::nbd::input::Fields;
use crate::nbd::proto::MAX_PAYLOAD;

/// Bytes that are asked for at once, unless the server would rather have longer requests, and the most then.
const PIECE: u32 = 256 << 10;
const LONGEST_PIECE: u32 = 1 << 20;

/// Bytes of the requests that a server takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// A power of two. Requests begin and end at its multiples.
    pub least: u32,
    /// A power of two, which suits the server.
    preferred: u32,
    /// A multiple of the least.
    pub most: u32,
}

impl Default for Sizes {
    /// What servers take that do not say.
    fn default() -> Sizes {
        Sizes {
            least: 1,
            preferred: 4096,
            most: MAX_PAYLOAD,
        }
    }
}

impl Sizes {
    /// What a server says.
    ///
    /// # Errors
    /// It says what none may.
    pub fn parse(data: &[u8]) -> Result<Sizes, String> {
        let mut fields = Fields(data);
        let (Some(least), Some(preferred), Some(most)) = (fields.u32(), fields.u32(), fields.u32())
        else {
            return Err("it does not tell all sizes of blocks".to_owned());
        };
        let fits = least.is_power_of_two()
            && preferred.is_power_of_two()
            && least <= preferred
            && least <= most;
        match fits {
            true => Ok(Sizes {
                least,
                preferred,
                most: most.min(MAX_PAYLOAD) / least * least,
            }),
            false => Err(format!(
                "no blocks have {least} bytes at least, {preferred} rather and {most} at most"
            )),
        }
    }

    /// Checks that an export of `size` bytes can be read in such requests.
    ///
    /// # Errors
    /// It cannot.
    pub fn of(self, size: u64) -> Result<Sizes, String> {
        let least = self.least;
        if least > PIECE {
            return Err(format!(
                "it takes no requests of fewer than {least} bytes, and none have more than {PIECE}"
            ));
        }
        match size.is_multiple_of(least.into()) {
            true => Ok(self),
            false => Err(format!(
                "it has {size} bytes and takes only requests for whole blocks of {least}"
            )),
        }
    }

    /// Bytes of the pieces that are fetched and kept. They may be longer than a request.
    pub fn piece(self) -> u64 {
        self.preferred.clamp(PIECE, LONGEST_PIECE).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(least: u32, preferred: u32, most: u32) -> Result<Sizes, String> {
        Sizes::parse(&[least, preferred, most].map(u32::to_be_bytes).concat())
    }

    #[test]
    fn requests_are_as_a_server_takes_them() {
        for (least, preferred, most, wanted) in [
            (1, 4096, u32::MAX, (1, 256 << 10, MAX_PAYLOAD)),
            (512, 4096, 131_072, (512, 256 << 10, 131_072)),
            // A maximum that is no multiple of the minimum is rounded.
            (4096, 4096, 10_000, (4096, 256 << 10, 8192)),
            (65_536, 1 << 19, 1 << 20, (65_536, 1 << 19, 1 << 20)),
            (1, 1 << 25, u32::MAX, (1, 1 << 20, MAX_PAYLOAD)),
        ] {
            let sizes = parsed(least, preferred, most).unwrap();
            let (least, piece, most) = wanted;
            assert_eq!(
                (sizes.least, sizes.piece(), sizes.most),
                (least, piece, most)
            );
            assert!(sizes.piece().is_multiple_of(u64::from(least)));
        }
    }

    #[test]
    fn what_no_server_may_say_is_refused() {
        for (least, preferred, most) in [
            (0, 4096, 4096),
            (1, 0, 4096),
            (3, 4096, 4096),
            (512, 5000, 8192),
            (8192, 4096, 8192),
            (4096, 4096, 512),
            (1, 1, 0),
        ] {
            assert!(
                parsed(least, preferred, most).is_err(),
                "{least} {preferred} {most}"
            );
        }
        assert!(Sizes::parse(&[0; 11]).is_err());
        let sizes = parsed(512, 512, 512).unwrap();
        assert!(sizes.of(1024).is_ok() && sizes.of(1000).is_err());
        let large = parsed(1 << 19, 1 << 19, 1 << 20).unwrap();
        assert!(
            large
                .of(1 << 19)
                .unwrap_err()
                .contains("no requests of fewer")
        );
    }
}
