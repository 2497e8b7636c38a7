// Which NVIDIA driver the CUDA engine needs, in words. Nothing of CUDA is needed to include it. CUDA's
// versions are numbers such as 12040, for 12.4.
#pragma once

#include <string>

namespace gpujoin {

struct CudaVersions {
    int driver = 0;   // the latest that the driver is for; 0: there is none
    int runtime = 0;  // that the engine was built with
};

// The first branch of drivers that any program of the runtime's major version runs with.
inline int driver_branch_for(int runtime) {
    switch (runtime / 1000) {
        case 11:
            return 450;
        case 12:
            return 525;
        default:
            return 580;
    }
}

inline std::string cuda_version_name(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Of a driver that the runtime finds insufficient.
inline std::string why_driver_is_insufficient(const CudaVersions& versions) {
    const std::string needed = std::to_string(driver_branch_for(versions.runtime)) + " or later";
    if (versions.driver == 0) return "there is no NVIDIA driver (" + needed + ")";
    return "the NVIDIA driver is too old: it is for CUDA " + cuda_version_name(versions.driver) +
           ", and CUDA " + cuda_version_name(versions.runtime) + " needs driver " + needed;
}

}  // namespace gpujoin
