// Calibration measures every engine, and leaves nothing behind.
#include "engine_harness.h"
#include "server/calibration.h"

namespace gpujoin::test {

class Calibration : public EngineTest {};

TEST_P(Calibration, FindsRatesAndHoldsNothing) {
    std::vector<std::byte> input(kCalibrationBytes), output(kCalibrationBytes);
    CalibrationSpace space{input.data(), output.data(), kCalibrationBytes, Memory::Host};
    EngineRates rates{};
    // On a busy machine it may happen that the empty join takes as long as the full ones.
    for (int attempt = 0; attempt < 20 && !(rates.build_ns > 0 && rates.probe_ns > 0); attempt++)
        ASSERT_OK(measure_rates(*engine_, limits(), space, &rates));
    EXPECT_GT(rates.setup_ns, 0);
    EXPECT_GT(rates.build_ns, 0);
    EXPECT_GT(rates.probe_ns, 0);
    EXPECT_GE(rates.transfer_ns, 0);
    EXPECT_EQ(host_memory_.used(), 0u);
    EXPECT_EQ(device_memory_.used(), 0u);
}

TEST_P(Calibration, EndsWithTheFirstFailure) {
    std::vector<std::byte> input(kCalibrationBytes), output(kCalibrationBytes);
    CalibrationSpace space{input.data(), output.data(), kCalibrationBytes, Memory::Host};
    EngineRates rates{};
    cancel_ = true;
    EXPECT_EQ(measure_rates(*engine_, limits(), space, &rates).fault, Fault::Cancelled);
    EXPECT_EQ(host_memory_.used(), 0u);
}

GPUJOIN_FOR_EACH_ENGINE(Calibration);

}  // namespace gpujoin::test
