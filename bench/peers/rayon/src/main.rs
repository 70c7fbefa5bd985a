//! Beside rayon and chili, interleaved in one process; every figure is a median: `tree 4 10 20`, `loops`.
mod loops;
mod timing;
mod tree;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((what, layers)) if what == "tree" => {
            let layers: Vec<u32> = layers.iter().map(|a| a.parse().expect("layers")).collect();
            tree::table(&layers);
        }
        Some((what, _)) if what == "loops" => loops::table(),
        _ => {
            eprintln!("say tree LAYERS… or loops");
            std::process::exit(2);
        }
    }
}
