// Printing results.
#include "report.h"

#include <cstdio>
#include <ctime>
#include <utility>

#include "wire/join_spec.h"

namespace gpujoin::bench {

namespace {

// "12.3 G": three significant digits with a decimal prefix.
std::string human(double number) {
    const char* prefixes[] = {"", " k", " M", " G", " T"};
    size_t prefix = 0;
    for (; number >= 999.5 && prefix + 1 < std::size(prefixes); prefix++) number /= 1000;
    char text[32];
    int decimals = number >= 99.95 || number == 0 ? 0 : number >= 9.995 ? 1 : 2;
    snprintf(text, sizeof text, "%.*f%s", decimals, number, prefixes[prefix]);
    return text;
}

std::string ratio(double number) {
    return number > 0 ? human(number) + "×" : "";
}

std::string percent(double share) {
    char text[16];
    snprintf(text, sizeof text, "%.0f %%", share * 100);
    return share > 0 ? text : "";
}

// "64 %", and for what mostly writes "64 % (writes 51 %)".
std::string limit_text(const std::map<std::string, double>& counters) {
    auto writes = counters.find(kWrites);
    std::string text = percent(counters.at(kLimit));
    return writes == counters.end() ? text : text + " (writes " + percent(writes->second) + ")";
}

// The algorithm asked for, and the one used where that is another.
std::string algorithm_text(const Label& label, const std::map<std::string, double>& counters) {
    auto used = counters.find(kAlgorithm);
    if (used == counters.end()) return label.algorithm;
    std::string name = name_of(static_cast<Algorithm>(used->second));
    return name == label.algorithm ? name : label.algorithm + " (" + name + " used)";
}

// Text in quotes, of which JSON lets all characters but these stand for themselves.
std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (char letter : text) {
        if (letter == '"' || letter == '\\') result += '\\';
        result += letter;
    }
    return result + '"';
}

std::string today() {
    char text[16];
    time_t now = time(nullptr);
    strftime(text, sizeof text, "%Y-%m-%d", localtime(&now));
    return text;
}

}  // namespace

std::string Label::name() const {
    std::string name = workload + '/' + variant + '/' + algorithm + '/' + engine + '/' + transport;
    return order.empty() ? name : name + '/' + order;
}

bool Report::ReportContext(const Context&) {
    return true;
}

void Report::ReportRuns(const std::vector<Run>& runs) {
    for (const Run& run : runs) {
        if (run.run_type != Run::RT_Iteration) continue;
        Line line;
        line.label = labels_.at(run.run_name.function_name);
        if (run.error_occurred) {
            line.failure = run.error_message;
            failures_++;
        } else {
            line.milliseconds = run.GetAdjustedRealTime();
            for (const auto& [name, counter] : run.counters) line.counters[name] = counter.value;
        }
        fprintf(stderr, "%-72s %s\n", line.label.name().c_str(),
                line.failure.empty() ? (human(line.counters[kWork]) + "/s").c_str() : line.failure.c_str());
        lines_.push_back(line);
    }
}

// How many times faster a line is than the best line of `engine` in the same comparison; 0 if there is none.
double Report::ratio_to(const Line& line, const std::string& engine) const {
    double best = 0;
    for (const Line& other : lines_) {
        if (other.label.engine != engine || other.label.comparison() != line.label.comparison()) continue;
        auto work = other.counters.find(kWork);
        if (work != other.counters.end()) best = std::max(best, work->second);
    }
    return best > 0 && line.label.engine != engine ? line.counters.at(kWork) / best : 0;
}

void Report::print(const Line& line) {
    const Label& label = line.label;
    printf("| %s | %s | %s | %s | %s%s%s |", label.workload.c_str(), label.variant.c_str(),
           algorithm_text(label, line.counters).c_str(), label.engine.c_str(), label.transport.c_str(),
           label.order.empty() ? "" : ", ", label.order.c_str());
    if (!line.failure.empty()) {
        printf(" %s | | | | | | | |\n", line.failure.c_str());
        return;
    }
    const auto& counters = line.counters;
    printf(" %s | %s | %.3g | %s/s | %sB/s | %s | %s | %s |\n", human(counters.at(kInputRows)).c_str(),
           human(counters.at(kOutputRows)).c_str(), line.milliseconds, human(counters.at(kWork)).c_str(),
           human(counters.at(kBytes)).c_str(), limit_text(counters).c_str(),
           ratio(ratio_to(line, "legacy")).c_str(), ratio(ratio_to(line, "cpu")).c_str());
}

void Report::Finalize() {
    printf(
        "| workload | | algorithm | engine | data | rows in | rows out | ms | rows (nested loop: pairs) | "
        "bytes "
        "| of limit | to legacy | to CPU engine |\n"
        "|---|---|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    for (const Line& line : lines_) print(line);
    if (!path_.empty()) keep();
}

void Report::keep_in(std::string path, std::string machine, std::string command) {
    path_ = std::move(path);
    machine_ = std::move(machine);
    command_ = std::move(command);
}

void Report::keep() {
    FILE* file = fopen(path_.c_str(), "w");
    if (file == nullptr) {
        perror(path_.c_str());
        failures_++;
        return;
    }
    fprintf(file, "{\"bench\": \"engine\", \"machine\": %s, \"date\": %s, \"command\": %s}\n",
            quoted(machine_).c_str(), quoted(today()).c_str(), quoted(command_).c_str());
    for (const Line& line : lines_) write_row(file, line);
    if (fclose(file) != 0) failures_++;
}

void Report::write_row(FILE* file, const Line& line) const {
    auto text = [&](const char* name, const std::string& value) {
        if (!value.empty()) fprintf(file, ", \"%s\": %s", name, quoted(value).c_str());
    };
    auto number = [&](const char* name, double value) { fprintf(file, ", \"%s\": %.6g", name, value); };
    auto known = [&](const char* name, double value) {
        if (value > 0) number(name, value);
    };
    const Label& label = line.label;
    fprintf(file, "{\"table\": \"engine\"");
    text("workload", label.workload);
    text("variant", label.variant);
    text("algorithm", algorithm_text(label, line.counters));
    text("engine", label.engine);
    text("data", label.transport);
    text("order", label.order);
    text("failure", line.failure);
    if (line.failure.empty()) {
        number("rows_in", line.counters.at(kInputRows));
        number("rows_out", line.counters.at(kOutputRows));
        number("time", line.milliseconds / 1000);
        number("work", line.counters.at(kWork));
        number("bytes", line.counters.at(kBytes));
        known("limit", line.counters.at(kLimit));
        auto writes = line.counters.find(kWrites);
        if (writes != line.counters.end()) known("writes", writes->second);
        known("to_legacy", ratio_to(line, "legacy"));
        known("to_cpu", ratio_to(line, "cpu"));
    }
    fprintf(file, "}\n");
}

}  // namespace gpujoin::bench
