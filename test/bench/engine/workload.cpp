// The list of workloads. R is the build side and S the probe side, unless a comment says otherwise.
#include "workload.h"

#include <cmath>

namespace gpujoin::bench {

namespace {

using enum Algorithm;
using enum Transport;

class Catalogue {
  public:
    explicit Catalogue(double scale) : scale_(scale) {}

    uint64_t rows(double millions) const { return scaled_rows(millions, scale_); }

    // A workload of 4+4 B rows, with and without host transfer.
    Workload& add(std::string id, std::string variant, Relation probe, Relation build,
                  std::vector<Algorithm> algorithms) {
        Workload workload;
        workload.id = std::move(id);
        workload.variant = std::move(variant);
        workload.probe = probe;
        workload.build = build;
        workload.algorithms = std::move(algorithms);
        workload.transports = {Resident, Batches};
        workloads_.push_back(std::move(workload));
        return workloads_.back();
    }

    std::vector<Workload> take() { return std::move(workloads_); }

  private:
    double scale_;
    std::vector<Workload> workloads_;
};

Keys uniform(uint64_t domain, uint64_t seed) {
    return make_keys(Distribution::Uniform, domain, seed);
}
Keys unique(uint64_t domain, uint64_t seed) {
    return make_keys(Distribution::Unique, domain, seed);
}

Workload& sparse(Workload& workload) {
    workload.probe.keys.multiplier = workload.build.keys.multiplier = kSparse;
    workload.variant += ", sparse";
    return workload;
}

// Lets a share of the probe rows find a match, each having the key of some build row, and no other. Both
// relations are uniform over the same domain, and their keys below twice that.
Workload& matching(Workload& workload, double share) {
    Keys& probe = workload.probe.keys;
    const Relation& build = workload.build;
    probe.stride = workload.build.keys.stride = 2;
    probe.match = share;
    probe.other_seed = build.keys.seed;
    probe.other_rows = build.rows;
    return workload;
}

Workload& band(Workload& workload, uint64_t width) {
    workload.is_band = true;
    workload.band = width;
    return workload;
}

void everywhere(Workload& workload) {
    workload.transports = {Resident, Whole, Batches};
}

std::string percent(double share) {
    return std::to_string(std::lround(share * 100)) + "%";
}

std::string short_number(double number) {
    char text[16];
    snprintf(text, sizeof text, "%g", number);
    return text;
}

// Uniform keys; the share of rows that match; the share of the build side's rows that have one key; bands.
void add_uniform(Catalogue& list) {
    uint64_t n = list.rows(16), few = list.rows(1);
    Relation s{uniform(n, 1), n}, r{uniform(n, 2), n};
    Workload& dense = list.add("W1", "16M", s, r, {Hash, SortMerge, Index});
    dense.unordered = true;
    everywhere(dense);
    Workload& spread = sparse(list.add("W1", "16M", s, r, {Hash}));
    spread.unordered = true;
    everywhere(spread);
    list.add("W1", "1M", {uniform(few, 1), few}, {uniform(few, 2), few}, {NestedLoop});
    for (double share : {0.0, 0.25, 0.5, 1.0}) {
        Workload& w = sparse(list.add("W2", percent(share) + " match", s, r, {Hash}));
        matching(w, share).unordered = true;
    }
    for (double share : {0.25, 0.5, 1.0}) {
        // The hot key is one that S has, and so has about two matches in S: results stay few.
        Keys hot = make_keys(Distribution::Hot, n, 3, share);
        hot.other_seed = s.keys.seed;
        sparse(list.add("W3", percent(share) + " equal", s, {hot, n}, {Hash, SortMerge})).unordered = true;
    }
    constexpr uint64_t kBand = 7;  // one match a row
    Relation wide_s{uniform(n * (kBand + 1), 1), n}, wide_r{uniform(n * (kBand + 1), 2), n};
    Workload& wide = band(list.add("W4", "band, 16M", wide_s, wide_r, {Index, SortMerge}), kBand);
    wide.unordered = true;
    everywhere(wide);
    band(list.add("W4", "band, 16M int8", wide_s, wide_r, {Index, SortMerge}), kBand).format = Format::Int8;
    Relation few_s{uniform(few * (kBand + 1), 1), few}, few_r{uniform(few * (kBand + 1), 2), few};
    band(list.add("W4", "band, 1M", few_s, few_r, {NestedLoop}), kBand);
}

// All pairs, by a condition of five operations that search finds no way into.
void add_filters(Catalogue& list) {
    uint64_t few = list.rows(1);
    list.add("W14", "filter, 1M", {uniform(few, 1), few}, {uniform(few, 2), few}, {NestedLoop}).is_filter =
        true;
}

// Texts of 16 bytes.
void add_texts(Catalogue& list) {
    uint64_t n = list.rows(4);
    Workload& texts = list.add("W5", "4M texts", {uniform(n, 1), n}, {unique(n, 2), n}, {Hash, SortMerge});
    sparse(texts).format = Format::Text;
}

// Keys in [0, 2^30), times the scale, of which one probe row in a thousand matches. Nested loops end at 2M
// rows: 8M rows a side are 64 T pairs, many seconds on any GPU.
void add_selective(Catalogue& list) {
    auto add_sides = [&](std::string sides, Relation probe, Relation build,
                         std::vector<Algorithm> algorithms) -> Workload& {
        Workload& w = list.add("W7", sides + ", 0.1% match", probe, build, algorithms);
        matching(w, 0.001).unordered = true;
        return w;
    };
    auto add = [&](double millions, uint64_t domain, Format format, std::vector<Algorithm> algorithms) {
        uint64_t n = list.rows(millions);
        std::string type = format == Format::Int4 ? "" : format == Format::Float4 ? " float4" : " float8";
        add_sides(short_number(millions) + "M" + type, {uniform(domain, 1), n}, {uniform(domain, 2), n},
                  algorithms)
            .format = format;
    };
    const uint64_t half = list.rows(512);
    constexpr uint64_t kExactFloats = 1 << 23;  // half of the integers that are float4 exactly
    add(16, half, Format::Int4, {Hash, Index, SortMerge});
    add(64, half, Format::Int4, {SortMerge});
    add(128, half, Format::Int4, {Hash, Index});
    add_sides("16M inner, 128M outer", {uniform(half, 1), list.rows(128)}, {uniform(half, 2), list.rows(16)},
              {Hash});
    for (int millions : {1, 2}) add(millions, half, Format::Int4, {NestedLoop});
    add(1, std::min(half, kExactFloats), Format::Float4, {NestedLoop});
    add(1, half, Format::Float8, {NestedLoop});
}

// Unique shuffled keys, one match a row; several matches a row.
void add_unique(Catalogue& list) {
    for (int millions : {16, 128}) {
        uint64_t n = list.rows(millions);
        Relation s{unique(n, 1), n}, r{unique(n, 2), n};
        std::string variant = std::to_string(millions) + "M";
        Workload& dense = list.add("W8", variant, s, r, {Hash, SortMerge});
        everywhere(dense);
        dense.unordered = true;
        Workload& spread = sparse(list.add("W8", variant, s, r, {Hash, SortMerge}));
        everywhere(spread);
        spread.unordered = true;
    }
    for (int factor : {1, 4, 16}) {
        uint64_t n = list.rows(64), domain = n / factor;
        Workload& w = list.add("W9", "64M, output " + std::to_string(factor) + "X", {uniform(domain, 1), n},
                               {uniform(domain, 2), n}, {Hash});
        sparse(w).unordered = true;
        w.writes_most = true;
    }
}

// Zipf-distributed keys against unique ones, on either side.
void add_skewed(Catalogue& list) {
    uint64_t n = list.rows(16);
    Relation all{unique(n, 2), n};
    for (double exponent : {0.0, 0.5, 0.75, 1.0}) {
        Keys skewed = make_keys(Distribution::Zipf, n, 1, exponent);
        std::string variant = "16M, Zipf " + short_number(exponent);
        Workload& probe = sparse(list.add("W10", variant + " probe side", {skewed, n}, all, {Hash}));
        probe.unordered = true;
        Workload& build = sparse(list.add("W10", variant + " build side", all, {skewed, n}, {Hash}));
        build.unordered = true;
    }
}

// Rows of 8+8 B, the inner side `ratio` times smaller than the outer.
Workload& add_wide(Catalogue& list, int ratio) {
    uint64_t outer = list.rows(64), n = outer / ratio;
    Workload& w = list.add("W13", "64M/" + std::to_string(ratio) + " inner, 64M outer",
                           {uniform(n, 1), outer}, {unique(n, 2), n}, {Hash});
    w.format = Format::Int8;
    w.id_width = 8;
    w.unordered = true;
    return w;
}

// An outer side that is streamed past a large inner one; 8+8 B rows with inner sides of several sizes.
void add_large(Catalogue& list) {
    uint64_t inner = list.rows(128);
    for (uint32_t repeats : {1, 10}) {
        Workload& w = list.add("W11", "128M inner, " + std::to_string(repeats * 256) + "M outer",
                               {uniform(inner, 1), list.rows(256)}, {unique(inner, 2), inner}, {Hash});
        sparse(w).transports = {StreamKept, StreamReturned};
        w.repeats = repeats;
    }
    for (int ratio : {1, 4, 8}) {
        Workload& w = add_wide(list, ratio);
        sparse(w);
        if (ratio == 1) w.algorithms.push_back(SortMerge), everywhere(w);
    }
    add_wide(list, 1).algorithms.push_back(SortMerge);
}

}  // namespace

uint64_t scaled_rows(double millions, double scale) {
    constexpr uint64_t kMillion = 1u << 20;
    return std::max<uint64_t>(4096, std::llround(millions * kMillion * scale));
}

std::vector<Workload> make_workloads(double scale) {
    Catalogue list(scale);
    add_uniform(list);
    add_filters(list);
    add_texts(list);
    add_selective(list);
    add_unique(list);
    add_skewed(list);
    add_large(list);
    return list.take();
}

const char* name_of(Transport transport) {
    switch (transport) {
        case Resident:
            return "resident";
        case ResidentBatches:
            return "resident_batches";
        case Whole:
            return "whole";
        case Batches:
            return "batches";
        case StreamKept:
            return "stream_kept";
        case StreamReturned:
            return "stream_returned";
    }
    return "";
}

}  // namespace gpujoin::bench
