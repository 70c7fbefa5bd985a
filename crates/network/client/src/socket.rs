/// A socket of an engine. It names nothing any more once the socket is gone, even if another has its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SocketId {
    /// Its place.
    pub index: u32,
    /// How many had that place before.
    pub generation: u32,
}
