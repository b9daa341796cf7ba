import { test } from '@jest/globals';
import { notTested } from './not-tested.ts';

// What not-tested.test.ts runs: a file whose tests are all skipped.
notTested('a host', new Error('Command failed: pip install a-host\n\nnpm warn old\nERROR: No matching distribution found for a-host'));
test.skip('runs', () => {});
