// A machine's /proc, /sys and /dev, for what reads them: a folder that the test fills.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace gpujoin::test {

class MachineFiles {
  public:
    MachineFiles() {
        root_ = std::filesystem::temp_directory_path() / "gpujoin_machine.XXXXXX";
        EXPECT_NE(mkdtemp(root_.data()), nullptr);
    }
    ~MachineFiles() { std::filesystem::remove_all(root_); }
    MachineFiles(const MachineFiles&) = delete;
    MachineFiles& operator=(const MachineFiles&) = delete;

    MachineFiles& with(const std::string& path, const std::string& text) {
        std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
        std::ofstream(root_ + path) << text << "\n";
        return *this;
    }
    const std::string& root() const { return root_; }

  private:
    std::string root_;
};

}  // namespace gpujoin::test
