import { readEnvironment } from '../runtime/environment.ts';
import { tableFromEnvironment } from '../table/table.ts';
import { changeLogFromEnvironment } from './change-log.ts';
import { openIntents } from './intents.ts';
import { openServices } from './services.ts';

export function registryFromEnvironment() {
  const { maxPerNamespace } = readEnvironment(['maxPerNamespace']);
  const table = tableFromEnvironment();
  const changeLog = changeLogFromEnvironment(table);
  return {
    services: openServices(table, changeLog, Number(maxPerNamespace)),
    intents: openIntents(table, changeLog, Number(maxPerNamespace)),
  };
}
