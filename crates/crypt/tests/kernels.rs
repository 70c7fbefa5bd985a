//! Every variant of every kernel against crates: the checkasm of this crate.
use aes_gcm::{AeadInOut, KeyInit};
use evener_crypt::gcm::{Gcm, TAG};
use evener_runtime::Simd;

#[test]
fn gcm_smoke() {
    for simd in Simd::levels() {
        for n in 0..2100 {
            let key = [3u8; 32];
            let mut buf: Vec<u8> = (0..n).map(|i| (i * 7) as u8).collect();
            let plain = buf.clone();
            let c = aes_gcm::Aes256Gcm::new(&key.into());
            let tag = c.encrypt_inout_detached(&[5; 12].into(), b"ad", (&mut buf[..]).into()).unwrap();
            buf.extend_from_slice(&tag);
            let g = Gcm::new(&key, simd);
            let mut out = vec![0; n + TAG];
            g.seal(&[5; 12], b"ad", &plain, &mut out);
            assert_eq!(out[..n], buf[..n], "{simd} {n}");
            assert_eq!(out[n..], buf[n..], "{simd} {n}");
            let mut back = vec![0; n];
            g.open(&[5; 12], b"ad", &out, &mut back).unwrap();
            assert_eq!(back, plain);
        }
    }
}
