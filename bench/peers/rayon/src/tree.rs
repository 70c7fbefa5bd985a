//! The sum of a tree by fork and join, beside rayon and chili.
use std::hint::black_box;

use crate::timing::times;

struct Node {
    value: u64,
    left: Option<Box<Node>>,
    right: Option<Box<Node>>,
}

impl Node {
    fn tree(layers: u32) -> Option<Box<Node>> {
        (layers > 0).then(|| {
            // In memory, a node lies before its left subtree, and that before the right one.
            let mut node = Box::new(Node {
                value: 1,
                left: None,
                right: None,
            });
            node.left = Node::tree(layers - 1);
            node.right = Node::tree(layers - 1);
            node
        })
    }
}

fn plain(node: &Option<Box<Node>>) -> u64 {
    node.as_ref()
        .map_or(0, |n| n.value + plain(&n.left) + plain(&n.right))
}

fn evener(node: &Option<Box<Node>>) -> u64 {
    let Some(n) = node else { return 0 };
    let (left, right) = evener_pool::join(|| evener(&n.left), || evener(&n.right));
    n.value + left + right
}

fn rayon(node: &Option<Box<Node>>) -> u64 {
    let Some(n) = node else { return 0 };
    let (left, right) = rayon::join(|| rayon(&n.left), || rayon(&n.right));
    n.value + left + right
}

fn chili(scope: &mut chili::Scope<'_>, node: &Option<Box<Node>>) -> u64 {
    let Some(n) = node else { return 0 };
    let (left, right) = scope.join(|s| chili(s, &n.left), |s| chili(s, &n.right));
    n.value + left + right
}

/// A join of two closures that do nothing, inside a pool.
fn empty() {
    const JOINS: f64 = 1000.0;
    let pair = |join: &(dyn Fn() + Sync)| (0..JOINS as u32).for_each(|_| join());
    let t = times(
        1e6,
        11,
        &mut [
            &mut || {
                evener_pool::scope(|_| pair(&|| _ = black_box(evener_pool::join(|| (), || ()))))
            },
            &mut || rayon::scope(|_| pair(&|| _ = black_box(rayon::join(|| (), || ())))),
        ],
    );
    println!(
        "A join of an empty pair: evener {:.1} ns, rayon {:.1} ns",
        t[0] / JOINS,
        t[1] / JOINS
    );
    println!();
}

/// Pairs of closures that take a while, from outside the pool.
fn pairs() {
    println!("| each of two closures, µs | evener, µs | rayon, µs |");
    println!("| --- | --- | --- |");
    for us in [5, 20, 50, 100, 200, 1000] {
        let steps = crate::work::steps(us as f64 * 1e3);
        let busy = || _ = black_box(crate::work::work(black_box(1), steps));
        let t = times(
            1e6,
            31,
            &mut [&mut || _ = evener_pool::join(busy, busy), &mut || {
                _ = rayon::join(busy, busy)
            }],
        );
        println!("| {us} | {:.1} | {:.1} |", t[0] / 1e3, t[1] / 1e3);
    }
    println!();
}

pub fn table(layers: &[u32]) {
    empty();
    pairs();
    println!("| nodes | loop, ns | evener | chili | rayon | evener/chili | evener/rayon |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let pool = chili::ThreadPool::new();
    for &layers in layers {
        let tree = Node::tree(layers);
        let nodes = (1u64 << layers) - 1;
        let mut scope = pool.scope();
        let t = times(
            2e7,
            11,
            &mut [
                &mut || assert_eq!(black_box(plain(&tree)), nodes),
                &mut || assert_eq!(evener(&tree), nodes),
                &mut || assert_eq!(chili(&mut scope, &tree), nodes),
                &mut || assert_eq!(rayon(&tree), nodes),
            ],
        );
        println!(
            "| {nodes} | {:.0} | {:.0} | {:.0} | {:.0} | {:.2} | {:.2} |",
            t[0],
            t[1],
            t[2],
            t[3],
            t[2] / t[1],
            t[3] / t[1]
        );
    }
}
