import type { Cursor } from './cursor.ts';
import { openNotes } from './notes.ts';
import { checkPlanned, DocumentError, describeIssues, type ImportOptions, type ImportPlan } from './plan.ts';
import { makeService } from './service.ts';

/** Members that a description may show of an intent, but that are the registry's to say. */
const assigned = ['intent_id', 'service_id', 'service_name', 'match'];

/** A member whose name begins with the protocol's, whatever that is: `proto-policy-file`. */
const findText = (root: Cursor, ending: string): string | undefined =>
  root.children().find(([name, { value }]) => name.endsWith(ending) && typeof value === 'string')?.[1].value as string | undefined;

/** Plans the import of a service description (specification section 2.6). Its intents keep their uids. */
export function planServiceDescription(root: Cursor, options: ImportOptions): ImportPlan {
  const notes = openNotes();
  const info = root.child('service-info');
  const url = options.baseUrl ?? info?.text('service_url');
  if (info === undefined || url === undefined || !URL.canParse(url)) {
    throw new DocumentError('The service description gives no service_url. Give one with --base-url.');
  }
  const service = makeService(
    {
      name: options.serviceName ?? info.text('name'),
      description: info.text('description'),
      url,
      policyUrl: findText(root, '-policy-file'),
      logoUrl: info.text('service_logo_url'),
      termsUrl: info.text('service_terms_of_service_url'),
      privacyUrl: info.text('service_privacy_policy_url'),
    },
    info,
    notes.take,
  );
  const plan: ImportPlan = { service, intents: [], skipped: [], notes: [], credentials: [] };
  const seen = new Set<string>();
  for (const place of root.list('intents')) {
    const operation = place.text('intent_uid') ?? place.path;
    const candidate = Object.fromEntries(place.children().flatMap(([name, { value }]) => (assigned.includes(name) ? [] : [[name, value]])));
    const checked = checkPlanned(candidate, options);
    if ('issues' in checked)
      plan.skipped.push({ operation, path: place.path, reason: `would be refused: ${describeIssues(checked.issues)}` });
    else if (seen.has(operation)) plan.skipped.push({ operation, path: place.path, reason: 'has the intent_uid of another one' });
    else {
      if (typeof place.child('endpoint')?.value === 'string') {
        notes.take(place.child('endpoint')?.path ?? '', 'the endpoint is an address alone; it will be called with POST and JSON');
      }
      seen.add(operation);
      plan.intents.push(checked.intent);
    }
  }
  return { ...plan, notes: notes.all() };
}
