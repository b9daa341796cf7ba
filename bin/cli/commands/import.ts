import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { openContext } from '../context.ts';
import { addImportCommand } from './import-choices.ts';
import { importDocument } from './import-document.ts';
import { reportImport, reviewImport } from './import-report.ts';

export function addImport(program: CommandUnknownOpts): void {
  addImportCommand(program).action(async (source, options, command) => {
    const context = openContext(command);
    const outcome = await importDocument(context, source, options, (planned) => reviewImport(context, planned, options));
    reportImport(context, outcome, options);
  });
}
