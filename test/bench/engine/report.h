// The benchmark's report: one line a case as it finishes, and at the end a markdown table with, for each
// case, its rates, its share of the machine's limit, and its ratio to the legacy algorithms and to the CPU
// engine: how many times the rate of the fastest of their cases with the same workload and algorithm,
// whatever its data and order. On the CPU engine that is mostly one in which all processors take part. Where
// a file is given, the table is kept there too, as test/bench/results.py says.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace gpujoin::bench {

// What identifies a case. Cases of one comparison differ in engine, order and transport only.
struct Label {
    std::string workload;
    std::string variant;
    std::string algorithm;
    std::string engine;  // "cpu", "cuda", "legacy"
    std::string transport;
    std::string order;

    std::string name() const;  // the benchmark's name
    std::string comparison() const { return workload + '/' + variant + '/' + algorithm; }
};

// Names of the counters that benchmarks set and the report reads. Rates are per second of measured time.
inline constexpr const char* kOutputRows = "output_rows";  // a run
inline constexpr const char* kInputRows = "input_rows";    // a run; without what was built beforehand
inline constexpr const char* kWork = "work";               // rows, or pairs compared, a second
inline constexpr const char* kBytes = "bytes";             // input and output bytes a second
inline constexpr const char* kLimit = "limit";             // share of the limit; 0 where none is known
inline constexpr const char* kWrites = "writes";           // results' share of the write bandwidth, if set
inline constexpr const char* kAlgorithm = "algorithm";     // the Algorithm that the engine says it used

class Report final : public benchmark::BenchmarkReporter {
  public:
    void announce(const Label& label) { labels_[label.name()] = label; }
    void keep_in(std::string path, std::string machine, std::string command);

    bool ReportContext(const Context& context) override;
    void ReportRuns(const std::vector<Run>& runs) override;
    void Finalize() override;
    bool has_failures() const { return failures_ > 0; }

  private:
    struct Line {
        Label label;
        double milliseconds = 0;
        std::map<std::string, double> counters;
        std::string failure;
    };
    double ratio_to(const Line& line, const std::string& engine) const;
    void print(const Line& line);
    void keep();
    void write_row(FILE* file, const Line& line) const;

    std::map<std::string, Label> labels_;
    std::vector<Line> lines_;
    int failures_ = 0;
    std::string path_, machine_, command_;  // of the file of results
};

}  // namespace gpujoin::bench
