//! A server that asks its clients in the middle of a stream to go on at another.

use std::time::Duration;

use evener_testing::Folder;

use crate::failing::got;
use crate::gateway::{ask, gateway};
use crate::origin::{Film, Origin, coded, has_ffmpeg};

#[test]
fn a_stream_goes_on_where_the_server_sends_it() {
    if !has_ffmpeg() {
        return;
    }
    let folder = Folder::new();
    let films = [0, 90].map(|hue| Film::make(&folder, hue));
    let [first, second] = films.each_ref().map(Origin::start);
    gateway(&["127.0.0.1"], |address| {
        let mut response = ask(address, &format!("/rtsp/{}/live", first.address)).ok();
        let mut bytes = got(&mut response, Duration::from_secs(2));
        assert_eq!((first.playing(), second.playing()), (1, 0));
        first.redirect_to(&second);
        bytes.extend(got(&mut response, Duration::from_secs(3)));
        assert_eq!((first.playing(), second.playing()), (0, 1));
        let path = folder.file("got.ts", &bytes);
        let (pictures, said) = coded(&path);
        let shown = ["0.ts", "90.ts"].map(|film| {
            let (all, _) = coded(&folder.path(film));
            pictures.iter().filter(|hash| all.contains(hash)).count()
        });
        assert!(shown[0] > 35 && shown[1] > 45, "{shown:?}: {said}");
        // One may be cut where the streams meet.
        assert!(
            pictures.len() - shown[0] - shown[1] <= 2,
            "{shown:?} of {}: {said}",
            pictures.len()
        );
    });
}
