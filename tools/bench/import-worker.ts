import { runCommand } from '../../bin/cli/program.ts';
import type { CommandReport, CommandTask } from './import.ts';

process.once('message', async ({ words }: CommandTask) => {
  const startedMs = performance.now();
  const exitCode = await runCommand(words);
  const cpu = process.cpuUsage();
  const report: CommandReport = {
    exitCode,
    elapsedMs: performance.now() - startedMs,
    processorMs: (cpu.user + cpu.system) / 1_000,
    maxResidentBytes: process.resourceUsage().maxRSS * 1_024,
  };
  process.send?.(report);
  process.disconnect();
});
