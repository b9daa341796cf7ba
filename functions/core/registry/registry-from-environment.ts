import { adminVerifierFromEnvironment } from '../admin/verify-admin.ts';
import { readEnvironment } from '../environment.ts';
import { tableFromEnvironment } from '../table/table.ts';
import { openChangeLog } from './change-log.ts';
import { openIntents } from './intents.ts';
import { openServices } from './services.ts';

export function registryFromEnvironment() {
  const { historyDays, maxPerNamespace } = readEnvironment(['historyDays', 'maxPerNamespace']);
  const table = tableFromEnvironment();
  const changeLog = openChangeLog(table, Number(historyDays));
  return {
    verifyAdmin: adminVerifierFromEnvironment(),
    services: openServices(table, changeLog, Number(maxPerNamespace)),
    intents: openIntents(table, changeLog, Number(maxPerNamespace)),
  };
}
