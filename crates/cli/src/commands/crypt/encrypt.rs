//! `evener encrypt`

use evener_crypt::session::encrypt;

use super::SealedArgs;
use crate::failure::Ended;

/// Encrypt a file or a pipe with all cores, in a standard format
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  evener keygen -o key
  evener encrypt -k key backup.tar -o backup.tar.sealed
  tar c photos | evener encrypt -p -o photos.tar.sealed
  evener decrypt -k key backup.tar.sealed -o backup.tar

The format is that of c2sp.org/chunked-encryption, Cobblestone-256 (AES-256-GCM). With the key, any
byte that was changed, moved, cut off or added is detected, and any part can be decrypted without
the rest. With -k the file has just that format, and other implementations read it. With -p a header
in front says how Argon2id makes the key.
A file appears when it is complete and on the disk. A run that fails or is interrupted leaves none.")]
pub struct Args {
    #[command(flatten)]
    sealed: SealedArgs,
}

pub fn run(args: &Args) -> Ended {
    args.sealed.run(true, encrypt)
}
