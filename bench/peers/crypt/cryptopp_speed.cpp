// Times Crypto++'s IDEA and Skipjack on one thread, in the lines and the way of evener's example product_speed:
// CIPHER cryptopp DIRECTION NS, nanoseconds for a block and pass. A buffer goes through as many passes as the
// product cipher has of the cipher, pass by pass.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cryptopp/idea.h>
#include <cryptopp/modes.h>
#include <cryptopp/skipjack.h>

using Clock = std::chrono::steady_clock;
using CryptoPP::byte;

static double median(std::vector<double> &times)
{
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    return times[times.size() / 2];
}

template <class Once>
static double time_of(Once once)
{
    once();
    std::vector<double> times;
    const auto begin = Clock::now();
    while (Clock::now() - begin < std::chrono::milliseconds(40) || times.size() < 5) {
        const auto start = Clock::now();
        once();
        times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count());
    }
    return median(times);
}

// Crypto++ has two ways over a buffer, a block at a time and a codebook mode; the faster one counts.
template <class Mode, class Single>
static void measure(const char *name, const char *direction, std::size_t key_bytes, int passes, std::vector<byte> &data)
{
    const byte key[] = "0123456789abcdef";
    Single single;
    single.SetKey(key, key_bytes);
    Mode mode;
    mode.SetKey(key, key_bytes);
    const double one = time_of([&] {
        for (int pass = 0; pass < passes; ++pass)
            for (std::size_t at = 0; at < data.size(); at += 8)
                single.ProcessBlock(&data[at]);
    });
    const double many = time_of([&] {
        for (int pass = 0; pass < passes; ++pass)
            mode.ProcessData(data.data(), data.data(), data.size());
    });
    std::printf("%s cryptopp %s %.3f\n", name, direction, std::min(one, many) / (data.size() / 8) / passes);
}

int main(int argc, char **argv)
{
    using namespace CryptoPP;
    const std::size_t blocks = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1024;
    std::vector<byte> data(8 * blocks);
    for (std::size_t at = 0; at < data.size(); ++at)
        data[at] = static_cast<byte>(at * 0x9e3779b97f4a7c15u >> 56);
    measure<ECB_Mode<IDEA>::Encryption, IDEA::Encryption>("idea", "encrypt", 16, 20, data);
    measure<ECB_Mode<IDEA>::Decryption, IDEA::Decryption>("idea", "decrypt", 16, 20, data);
    measure<ECB_Mode<SKIPJACK>::Encryption, SKIPJACK::Encryption>("skipjack", "encrypt", 10, 24, data);
    measure<ECB_Mode<SKIPJACK>::Decryption, SKIPJACK::Decryption>("skipjack", "decrypt", 10, 24, data);
}
