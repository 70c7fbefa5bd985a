//! Beside rayon and chili, interleaved in one process; every figure is a median: `tree 4 10 20`, `loops`, `pauses`, `uneven`, `streams`.
mod loops;
mod streams;
mod timing;
mod tree;
mod uneven;
mod work;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((what, layers)) if what == "tree" => {
            let layers: Vec<u32> = layers.iter().map(|a| a.parse().expect("layers")).collect();
            tree::table(&layers);
        }
        Some((what, _)) if what == "loops" => loops::table(),
        Some((what, _)) if what == "pauses" => loops::pauses(),
        Some((what, _)) if what == "uneven" => uneven::table(),
        Some((what, _)) if what == "streams" => streams::table(),
        _ => {
            eprintln!("say tree LAYERS…, loops, pauses, uneven or streams");
            std::process::exit(2);
        }
    }
}
