/* evener for programs in C. The functions of this file are made from crates/capi/src; docs/c.md shows how they are used. */

#ifndef EVENER_H
#define EVENER_H

#include <stddef.h>
#include <stdint.h>

// Bytes of text in every chunk of an encrypted file but the last, which has fewer, or none.
#define EVENER_CHUNK 16384

// Bytes that a chunk has more when it is sealed.
#define EVENER_TAG 16

// Bytes of a key.
#define EVENER_KEY 32

// The version of the interface that a program is compiled for. It changes when a function or a structure that
// there was changes.
#define EVENER_ABI_VERSION 1

// How a call ended. What is not `EVENER_STATUS_OK`, `_LATE` or `_ENDED` leaves a line for `evener_last_error`.
typedef enum evener_status {
  // It did what it says.
  EVENER_STATUS_OK = 0,
  // There was no room, or no result, in time.
  EVENER_STATUS_LATE = 1,
  // The stream has ended, and there is no more result.
  EVENER_STATUS_ENDED = 2,
  // What was passed cannot be: nothing was done.
  EVENER_STATUS_INVALID = 3,
  // Something could not be computed, or the system refused something.
  EVENER_STATUS_FAILED = 4,
  // A fault in the library. What was passed should not be used further, but to free it.
  EVENER_STATUS_PANICKED = 5,
  // Encrypted bytes were altered, or made with another secret or context.
  EVENER_STATUS_REFUSED = 6,
} evener_status;

// How a frame's colour is laid out in planes.
typedef enum evener_chroma {
  // One plane.
  EVENER_CHROMA_MONO = 0,
  // Three planes; those of chroma have half the width and half the height, rounded up.
  EVENER_CHROMA_C420 = 1,
  // Three planes; those of chroma have half the width, rounded up.
  EVENER_CHROMA_C422 = 2,
  // Three planes of equal size.
  EVENER_CHROMA_C444 = 3,
  // Three planes of equal size: red, green and blue.
  EVENER_CHROMA_RGB = 4,
} evener_chroma;

// How a sample is stored.
typedef enum evener_depth {
  // One byte.
  EVENER_DEPTH_U8 = 0,
  // 10 bits in two bytes, in the machine's order.
  EVENER_DEPTH_U10 = 1,
  // A float, 0 for black and 1 for white.
  EVENER_DEPTH_F32 = 2,
  // 12 bits in two bytes, in the machine's order.
  EVENER_DEPTH_U12 = 3,
  // 16 bits in two bytes, in the machine's order.
  EVENER_DEPTH_U16 = 4,
} evener_depth;

// The key of one encrypted file. Any number of threads may use it at once.
typedef struct evener_file_key evener_file_key;

// A filter graph.
typedef struct evener_graph evener_graph;

// A key or a passphrase. It is wiped from memory when it is freed. Any number of threads may use it at once.
typedef struct evener_secret evener_secret;

// A graph on a stream that stays open. All its functions may be called by several threads at once, but
// `evener_stream_free`.
typedef struct evener_stream evener_stream;

// Workers. Any number of threads may use them at once.
typedef struct evener_workers evener_workers;

// The format of a frame. `chroma` is one of `evener_chroma`, `depth` one of `evener_depth`.
typedef struct evener_format {
  // Samples in a row of the first plane.
  uint32_t width;
  // Rows of the first plane.
  uint32_t height;
  // One of `evener_chroma`.
  uint32_t chroma;
  // One of `evener_depth`.
  uint32_t depth;
  // 1 if all codes are used, as in pictures; 0 if there is room below black and above white, as in most video.
  uint32_t full_range;
} evener_format;

// What can be chosen about a stream. All zero is a good choice.
typedef struct evener_options {
  // How many workers; 0 for as many as there are processors.
  uint32_t workers;
  // How frames are divided, as `--plan` of `evener filter` takes it; null for whatever proves to be fast.
  const char *plan;
} evener_options;

// A plane of samples, row after row.
typedef struct evener_plane {
  // The first sample, at a multiple of a sample's size.
  void *data;
  // Bytes from the beginning of a row to that of the next, a multiple of a sample's size.
  size_t stride;
} evener_plane;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// How many bytes there are before the first chunk of what is encrypted with `secret`.
//
// # Safety
// `secret` was made by this library, `size` is a place for a number, or either is null.
enum evener_status evener_header_size(const struct evener_secret *secret, size_t *size);

// Makes the key of a new file, and writes the header that the file begins with: as many bytes as `evener_header_size` says.
// `context`, which may be null if it is empty, is needed to open the file. The key is freed by `evener_file_key_free`.
//
// # Safety
// `secret` was made by this library; the others are there, with so many bytes; `key` is a place for a pointer.
enum evener_status evener_file_key_new(const struct evener_secret *secret,
                                       const char *context,
                                       size_t context_len,
                                       uint8_t *header,
                                       size_t header_len,
                                       struct evener_file_key **key);

// The key of a file that begins with `header`: as many bytes as `evener_header_size` says. `EVENER_STATUS_REFUSED` if it is no
// header, or was made with another secret or context.
//
// # Safety
// As for `evener_file_key_new`.
enum evener_status evener_file_key_open(const struct evener_secret *secret,
                                        const char *context,
                                        size_t context_len,
                                        const uint8_t *header,
                                        size_t header_len,
                                        struct evener_file_key **key);

// Seals chunks from number `first` on, counted from 0: `text` into `sealed`, on the thread that calls.
//
// `text` is whole chunks, and if `last` is not 0 the last chunk of the file after them, which is shorter and may be empty.
// `sealed` has `EVENER_TAG` bytes more for each chunk, apart from those of `text`. A chunk must not be sealed twice with
// different text under one file key.
//
// # Safety
// `key` was made by this library; the others are there, with so many bytes; nothing writes what is read, and nothing else
// reads or writes what is written, until this returns.
enum evener_status evener_chunks_seal(const struct evener_file_key *key,
                                      uint64_t first,
                                      int last,
                                      const uint8_t *text,
                                      size_t text_len,
                                      uint8_t *sealed,
                                      size_t sealed_size);

// Opens chunks from number `first` on: `sealed` into `text`, on the thread that calls.
//
// `sealed` is whole chunks, and if `last` is not 0 the last chunk of the file after them. `text` has `EVENER_TAG` bytes less
// for each chunk, apart from those of `sealed`. `EVENER_STATUS_REFUSED` if a chunk is not what was sealed at its place, or the
// last one is missing; the text from that chunk on is zero.
//
// # Safety
// As for `evener_chunks_seal`.
enum evener_status evener_chunks_open(const struct evener_file_key *key,
                                      uint64_t first,
                                      int last,
                                      const uint8_t *sealed,
                                      size_t sealed_size,
                                      uint8_t *text,
                                      size_t text_len);

// Frees the key of a file. Null is allowed.
//
// # Safety
// `key` was made by this library, was not freed, and no other thread uses it; or it is null.
void evener_file_key_free(struct evener_file_key *key);

// How many bytes `len` bytes have when they are encrypted with `secret`.
//
// # Safety
// `secret` was made by this library, `size` is a place for a number, or either is null.
enum evener_status evener_encrypted_size(const struct evener_secret *secret, size_t len, size_t *size);

// How many bytes of text there are in `len` bytes that were encrypted with `secret`. `EVENER_STATUS_REFUSED` if that is no
// size of encrypted bytes.
//
// # Safety
// `secret` was made by this library, `size` is a place for a number, or either is null.
enum evener_status evener_decrypted_size(const struct evener_secret *secret,
                                         size_t len,
                                         size_t *size);

// Encrypts `input` as `evener encrypt` does a file. `output` has the bytes that `evener_encrypted_size` says, apart from those
// of `input`. `context`, which may be null if it is empty, is needed to decrypt them.
//
// # Safety
// `workers` and `secret` were made by this library; the others are there, with so many bytes; nothing writes what is read,
// and nothing else reads or writes the output, until this returns.
enum evener_status evener_encrypt(const struct evener_workers *workers,
                                  const struct evener_secret *secret,
                                  const char *context,
                                  size_t context_len,
                                  const uint8_t *input,
                                  size_t input_len,
                                  uint8_t *output,
                                  size_t output_len);

// Decrypts `input`, which `evener_encrypt` or `evener encrypt` made with this secret and context. `output` has the bytes that
// `evener_decrypted_size` says, apart from those of `input`.
//
// `EVENER_STATUS_REFUSED` if the input was altered, or made with another secret or context. Unless this succeeds, all bytes of
// the output are zero or as they were.
//
// # Safety
// As for `evener_encrypt`.
enum evener_status evener_decrypt(const struct evener_workers *workers,
                                  const struct evener_secret *secret,
                                  const char *context,
                                  size_t context_len,
                                  const uint8_t *input,
                                  size_t input_len,
                                  uint8_t *output,
                                  size_t output_len);

// Encrypts or decrypts `len` bytes of `input` into `output` by AES in counter mode, as `openssl enc -aes-256-ctr` does; with
// `key_len` of 16, 24 or 32 it is AES-128, AES-192 or AES-256. `counter` has 16 bytes, the first counter of the stream, in
// which the input lies from byte `at` on. `output` may be `input`, and has no bytes of it otherwise.
//
// This authenticates nothing. Two texts under one key and counter betray each other.
//
// # Safety
// As for `evener_encrypt`.
enum evener_status evener_ctr(const struct evener_workers *workers,
                              const uint8_t *key,
                              size_t key_len,
                              const uint8_t *counter,
                              uint64_t at,
                              const uint8_t *input,
                              uint8_t *output,
                              size_t len);

// Makes a graph from its text, `"blur,sobel,threshold=0.25"`, as `evener filter` takes it. It is freed by
// `evener_graph_free`.
//
// # Safety
// `text` is a string that ends with a zero byte, and `graph` a place for a pointer, or either is null.
enum evener_status evener_graph_new(const char *text, struct evener_graph **graph);

// The format of results for frames of `input`.
//
// # Safety
// `graph` was made by `evener_graph_new`, `input` and `output` are formats, or any is null.
enum evener_status evener_graph_output(const struct evener_graph *graph,
                                       const struct evener_format *input,
                                       struct evener_format *output);

// Frees a graph. Streams that were opened with it go on. Null is allowed.
//
// # Safety
// `graph` was made by `evener_graph_new` and was not freed, or is null.
void evener_graph_free(struct evener_graph *graph);

// The secret that is a key of `EVENER_KEY` bytes. It is freed by `evener_secret_free`.
//
// # Safety
// `key` has so many bytes, `secret` is a place for a pointer, or either is null.
enum evener_status evener_secret_of_key(const uint8_t *key, struct evener_secret **secret);

// The secret that is a passphrase, a string that is not empty. What is encrypted with it begins with a longer header, and each
// call that uses it takes about 0.1 s and 64 MiB to make a key of it.
//
// # Safety
// `text` ends with a zero byte, `secret` is a place for a pointer, or either is null.
enum evener_status evener_secret_of_passphrase(const char *text,
                                               struct evener_secret **secret);

// The key in a file that `evener keygen` wrote.
//
// # Safety
// `path` ends with a zero byte, `secret` is a place for a pointer, or either is null.
enum evener_status evener_secret_load(const char *path, struct evener_secret **secret);

// Frees a secret. File keys that were made with it stay. Null is allowed.
//
// # Safety
// `secret` was made by this library, was not freed, and no other thread uses it; or it is null.
void evener_secret_free(struct evener_secret *secret);

// Opens a stream for frames of a format. `options` may be null. It is ended by `evener_stream_free`.
//
// # Safety
// `graph` was made by `evener_graph_new`; `format`, `options` and what they point to are as their types say; `stream` is a
// place for a pointer.
enum evener_status evener_stream_open(const struct evener_graph *graph,
                                      const struct evener_format *format,
                                      const struct evener_options *options,
                                      struct evener_stream **stream);

// Begins a frame: `input` and `output` are as many planes as the format of frames and of results has. They are read and
// written until `evener_stream_pull` gives the frame's `given` back. Waits for room at most `timeout_ms`, or for ever if
// that is less than 0.
//
// A thread that pushes and pulls must pull before it has pushed many: there is room for some frames only.
//
// `EVENER_STATUS_LATE` if there was no room in time, `_ENDED` if the stream has ended; the frame is not begun then.
//
// # Safety
// `stream` was made by `evener_stream_open`. The planes are there, the input is not written and the output neither read nor
// written by others, until the frame is pulled or the stream is freed.
enum evener_status evener_stream_push(const struct evener_stream *stream,
                                      const struct evener_plane *input,
                                      const struct evener_plane *output,
                                      void *given,
                                      int64_t timeout_ms);

// Waits for the next result, in the order in which frames were pushed, at most `timeout_ms`, or for ever if that is less
// than 0. It lies in the `output` that was pushed with it. `given`, unless it is null, gets what was given with it.
//
// `EVENER_STATUS_LATE` if there was none in time, `_ENDED` if there is none any more. `evener_stream_free` says why a stream
// ended that was not told to.
//
// # Safety
// `stream` was made by `evener_stream_open`; `given` is a place for a pointer or null.
enum evener_status evener_stream_pull(const struct evener_stream *stream,
                                      void **given,
                                      int64_t timeout_ms);

// Says that no more frames come. Results of those that came can still be pulled; then the stream has ended.
//
// # Safety
// `stream` was made by `evener_stream_open`.
enum evener_status evener_stream_end(const struct evener_stream *stream);

// Ends a stream and frees it, when frames under way are done. Their results are in their place, and no memory of the caller
// is read or written afterwards. `EVENER_STATUS_FAILED` if the stream had ended because a frame could not be computed or its
// plan not be run. Null is allowed.
//
// # Safety
// `stream` was made by `evener_stream_open`, was not freed, and no other thread uses it.
enum evener_status evener_stream_free(struct evener_stream *stream);

// The version of the interface that the library has. A program that was compiled for another cannot use it.
uint32_t evener_abi_version(void);

// The version of the library, as text that lives as long as the program.
const char *evener_version(void);

// Why the last call of this thread failed that did: one line. It lives until the next such call of this thread.
const char *evener_last_error(void);

// Starts `count` workers, or as many as there are processors if that is 0. The thread that calls counts as one. They take no
// processor time while there is nothing to do, and are ended by `evener_workers_free`.
//
// # Safety
// `workers` is a place for a pointer, or null.
enum evener_status evener_workers_new(uint32_t count,
                                      struct evener_workers **workers);

// Ends workers. Null is allowed.
//
// # Safety
// `workers` was made by `evener_workers_new` and was not freed, and no other thread uses it; or it is null.
void evener_workers_free(struct evener_workers *workers);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* EVENER_H */
