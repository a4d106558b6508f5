// Runs before every unit test file: property tests use one seed, so that a run is repeatable. FUZZ_SEED=… tries another.
import * as fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env['FUZZ_SEED'] ?? 37) });
