/** `npm run bench -- <benchmark> [options]`: runs a benchmark and prints its results. */
import { Command, InvalidArgumentError } from '@commander-js/extra-typings';

function readCount(text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 to 9999999.');
  return Number(text);
}

const program = new Command('npm run bench --').description('Run a benchmark and print its results').showHelpAfterError();
program
  .command('execute')
  .description(
    'Execute an intent through the local stack; compare it with calling its upstream directly, and the function with the least work that an execution takes: the same two signed requests to DynamoDB, the same call and one signature check, in plain Node and with the AWS SDK',
  )
  .option('--executions <count>', 'number of executions of each variant', readCount, 2_000)
  .option('--concurrency <count>', 'concurrent executions while throughput is measured', readCount, 16)
  .action(async (options) => (await import('./bench/execute.ts')).measureExecutions(options));
program
  .command('local')
  .description(
    'Execute an intent through "npm start", as it is used: one call after the other, then several at once. Prints what the gate adds, and its memory on Linux',
  )
  .option('--executions <count>', 'number of executions of each kind', readCount, 2_000)
  .option('--concurrency <count>', 'executions at once', readCount, 16)
  .action(async (options) => (await import('./bench/local.ts')).measureLocal(options));
program
  .command('search')
  .description('Measure the quality of search, then its speed and memory')
  .option(
    '--folder <path>',
    'folder with pairs of docs.jsonl and queries.jsonl, or with OpenAPI documents and questions.txt; default: the built-in corpora',
  )
  .option('--sizes <list>', 'numbers of intents at which to measure time and memory, separated by commas', '1000,10000,100000')
  .option('--quality-only', 'omit time and memory')
  .action(async (options) => (await import('./bench/search.ts')).measureSearch(options));
program
  .command('import')
  .description('Import a document into the local stack, import it again, export and compare it; print the time and memory of each command')
  .option('--operations <list>', 'sizes of the document, separated by commas', '1200')
  .action(async (options) => (await import('./bench/import.ts')).measureImports(options));
program
  .command('cold')
  .description('Start each function in a fresh process and measure the time to its first answer, the size of its bundle and its memory')
  .option('--rounds <count>', 'number of starts of each function, of which the median counts', readCount, 7)
  .option('--only <names>', 'names of functions, separated by commas')
  .action(async (options) => (await import('./bench/cold.ts')).measureColdStarts(options));
program
  .command('ceilings')
  .description(
    'Simulate the background work of 10,000 executions a second: append their receipts to a log of 4 million entries, and add up their usage. Prints processor time, requests and memory, and the rate that one vCPU sustains',
  )
  .option('--seconds <count>', 'seconds of executions; 60 are a whole minute', readCount, 6)
  .option('--rounds <count>', 'number of runs of each function, of which the best counts', readCount, 3)
  .option('--agents <count>', 'number of different agents', readCount, 5_000)
  .action(async (options) => (await import('./bench/ceilings.ts')).measureCeilings(options));
program
  .command('costs')
  .description(
    'Measure what strangers and services can make expensive: searches and executions under a policy with many prohibitions, and large answers',
  )
  .option('--intents <count>', 'number of registered intents', readCount, 1_200)
  .option('--runs <count>', 'number of requests of each kind', readCount, 100)
  .action(async (options) => (await import('./bench/costs.ts')).measureCosts(options));
program
  .command('memory')
  .description(
    'Measure the processor time and the peak memory of the functions that execute intents; print what they cost with each size of memory',
  )
  .option('--intents <count>', 'number of registered intents', readCount, 1_200)
  .option('--runs <count>', 'number of requests of each kind', readCount, 1_000)
  .action(async (options) => (await import('./bench/memory.ts')).measureMemory(options));
program
  .command('hanging')
  .description(
    'Simulate a function of which one upstream hangs. Prints the share of healthy calls that find no free environment in each minute, with and without the bound on slow calls',
  )
  .option('--environments <count>', 'maximum number of environments, which is the reserved concurrency', readCount, 300)
  .option('--minutes <count>', 'simulated time', readCount, 5)
  .option('--healthy <count>', 'healthy calls per second', readCount, 50)
  .action(async (options) => (await import('./bench/hanging.ts')).measureHanging(options));

await program.parseAsync();
