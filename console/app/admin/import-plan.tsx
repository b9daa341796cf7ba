import { useState } from 'preact/hooks';
import type { ServiceChanges } from '../../../registry/compare.ts';
import {
  changedMembers,
  defaultsTitle,
  describeDefaults,
  describeKept,
  describeOtherOrigins,
  describeUnwanted,
  keptTitle,
} from '../../../registry/describe.ts';
import { Button } from '../components/controls.tsx';
import { FormField } from '../components/field.tsx';
import { type Column, DataTable, FoldedTable } from '../components/table.tsx';
import { Badge, Items, MethodBadge, Part, Shown } from '../components/text.tsx';
import { pathOf } from '../route.ts';
import type { DryRun } from './importer.ts';

const serviceTexts = {
  create: () => 'service created',
  update: (changes: ServiceChanges) => `service settings changed (${changedMembers(changes).join(', ')})`,
  same: () => 'service settings unchanged',
};

const missingTitle = 'Files are missing. Operations that need them are left out, and their schemas allow any value.';

interface ImportPlanProps {
  dry: DryRun;
  /** whether the document was read at an address */
  isAddress: boolean;
  /** @param dry - reduced to the chosen operations */
  onApply(dry: DryRun): void;
  /** called if another file is chosen as the document */
  onMain(main: string): void;
}

type Intent = DryRun['changes']['intents'][number];

const columns: readonly Column<Intent>[] = [
  {
    head: 'Operation',
    cell: ({ input }) => (
      <span class="entry" title={`${input.intent_name}\n${input.intent_uid}`}>
        <Shown text={input.intent_name} /> <small class="quiet">{input.intent_uid}</small>
      </span>
    ),
    sortBy: ({ input }) => input.intent_name,
  },
  { head: 'Method', cell: ({ input }) => <MethodBadge method={input.endpoint.method} />, sortBy: ({ input }) => input.endpoint.method },
  { head: 'Path', cell: ({ input }) => <code>{pathOf(input.endpoint.url)}</code>, sortBy: ({ input }) => pathOf(input.endpoint.url) },
  {
    head: 'Change',
    cell: ({ kind, differences }) =>
      kind === 'create' ? <Badge tone="good">new</Badge> : [...new Set(differences.map(({ path }) => path.split('/')[1]))].join(', '),
    sortBy: ({ kind }) => kind,
  },
];

const uidOf = ({ input }: Intent): string => input.intent_uid;

/** What an import would do; operations can be deselected. */
export function ImportPlan({ dry, isAddress, onApply, onMain }: ImportPlanProps) {
  const { plan, changes, main, candidates, files, missing } = dry;
  const { intents, service, unchanged, foreign, unwanted } = changes;
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const chosen = intents.filter((change) => !left.has(uidOf(change)));
  const toFind = isAddress
    ? 'Use the command below, with --with and the address of these files'
    : 'Drop the folder that contains these files';
  const isNothing = chosen.length === 0 && (service.kind === 'same' || intents.length > 0);
  const apply = () => onApply({ ...dry, changes: { ...changes, intents: chosen } });
  return (
    <Part title={`Planned changes to ${changes.name}`}>
      {candidates.length > 1 && (
        <FormField
          field={{ name: 'main', label: 'Main document', type: 'string', enum: candidates, required: true, hint: '' }}
          text={JSON.stringify(main)}
          onText={(text) => onMain(JSON.parse(text))}
        />
      )}
      {missing.length > 0 && (
        <div class="notice">
          <Items title={`${missingTitle} ${toFind}:`} texts={missing.slice(0, 20)} />
          {missing.length > 20 && <p>and {missing.length - 20} more</p>}
        </div>
      )}
      <ul>
        <li>{serviceTexts[service.kind](changes)}</li>
        <li>{countOf(intents.filter(({ kind }) => kind === 'create').length, 'intent')} created</li>
        <li>{countOf(intents.filter(({ kind }) => kind === 'update').length, 'intent')} changed</li>
        <li>{countOf(unchanged, 'intent')} unchanged</li>
        {foreign.length > 0 && <li>{countOf(foreign.length, 'intent')} left out: another service has the same intent_uid</li>}
        <li>{countOf(plan.skipped.length, 'operation')} left out</li>
      </ul>
      <Items title={describeUnwanted(unwanted.length, 'kept')} texts={unwanted} />
      <Items title={keptTitle} texts={describeKept(changes.kept)} />
      <Items title={defaultsTitle} texts={describeDefaults(changes)} />
      <Items texts={describeOtherOrigins(changes)} />
      {plan.credentials.length > 0 && (
        <div class="notice">
          <Items title="The API requires a credential:" texts={plan.credentials} />
          <p>Set it on the service's page after the import.</p>
        </div>
      )}
      <p class="buttons">
        <Button
          title={isNothing ? 'Nothing to do' : `Import ${chosen.length} ${chosen.length === 1 ? 'intent' : 'intents'}`}
          kind="main"
          isDisabled={isNothing}
          onClick={apply}
        />
        {left.size > 0 && <span class="quiet">{left.size} deselected</span>}
      </p>
      {intents.length > 0 && (
        <DataTable
          label="Created or changed"
          columns={columns}
          rows={intents}
          keyOf={uidOf}
          textOf={({ kind, input }) => `${kind} ${input.intent_name} ${input.intent_uid} ${input.endpoint.method} ${input.endpoint.url}`}
          choice={{ verb: 'Import', left, onLeft: setLeft }}
        />
      )}
      <FoldedTable title="Left out" rows={plan.skipped.map(({ operation, reason }) => [operation, reason])} />
      {files.length > 1 && <FoldedTable title="Files read" rows={files.map((file): [string, string] => [file, ''])} />}
      <FoldedTable title="Differences from the document" rows={plan.notes.map(({ path, note }) => [path, note])} />
    </Part>
  );
}

/** `1 intent is` or `2 intents are`. */
const countOf = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? ' is' : 's are'}`;
