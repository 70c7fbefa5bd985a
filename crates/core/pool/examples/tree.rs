//! Sums a tree by `join`, over and over: `tree LAYERS ROUNDS`.
struct Node {
    value: u64,
    left: Option<Box<Node>>,
    right: Option<Box<Node>>,
}
impl Node {
    fn tree(layers: u32) -> Option<Box<Node>> {
        (layers > 0).then(|| {
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
#[inline(never)]
fn sum(node: &Option<Box<Node>>) -> u64 {
    let Some(n) = node else { return 0 };
    let (l, r) = evener_pool::join(|| sum(&n.left), || sum(&n.right));
    n.value + l + r
}
fn main() {
    let a: Vec<u32> = std::env::args()
        .skip(1)
        .map(|a| a.parse().unwrap())
        .collect();
    let tree = Node::tree(a[0]);
    let start = std::time::Instant::now();
    for _ in 0..a[1] {
        assert_eq!(sum(&tree), (1 << a[0]) - 1);
    }
    println!(
        "{:.2} ns a node",
        start.elapsed().as_nanos() as f64 / f64::from(a[1]) / ((1u64 << a[0]) - 1) as f64
    );
}
