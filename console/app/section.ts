import { type ComponentChild, createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type * as z from 'zod';
import type { Rule } from '../../functions/core/policy/reading.ts';
import type { credentialFacts } from '../../schemas/credential.ts';
import type { Policy } from '../../schemas/policy.ts';
import type { Column } from './components/table.tsx';
import type { Call } from './made-calls.ts';
import type { Route } from './route.ts';

export interface SectionLink {
  /** first segment of the section's routes */
  path: string;
  /** left out if only other views lead to the section */
  title?: string;
  /** A hook: how many things in it wait for the signed-in admin. */
  useWaiting?(): number;
}

export interface Section extends SectionLink {
  View: (route: Route) => ComponentChild;
  /** the text of its link beside a call of this tab, with the id of the execution as its second segment; undefined if it has nothing about the call */
  ofCall?: (call: Pick<Call, 'receipt'>) => string | undefined;
}

/** A section for admins, which is loaded once one has signed in. */
export interface AdminSection extends SectionLink {
  View?: Section['View'];
  /** A hook: its figures in the overview. */
  useFigures?(): readonly Figure[];
  /** What it shows about one agent, or in a tab of one service. */
  About?: (subject: Subject) => ComponentChild;
  /** What it shows below the credential of a service. */
  AboutCredential?: (credential: ShownCredential) => ComponentChild;
  /** What it shows below the editor of the policy. */
  AboutPolicy?: (edited: EditedPolicy) => ComponentChild;
  /** A hook: its columns in the list of the rules in force. */
  useRuleColumns?(policy: Policy): readonly Column<Rule>[];
  /** what else can be imported from an address, such as `a feed` */
  imports?: string;
  /** A hook: its columns in a list of services, agents, or the intents of a service. The rows are given by their ids. */
  useColumns?(list: 'services' | 'agents' | 'intents', serviceId?: string): readonly Column<string>[];
}

/** A number in the overview that leads to its page. */
export interface Figure {
  title: string;
  /** undefined while it is unknown */
  value: number | undefined;
  to: string;
  /** stands out unless it is 0 */
  isUrgent?: boolean;
}

export interface Subject {
  kind: 'service' | 'agent';
  id: string;
}

export interface ShownCredential {
  /** of the service */
  id: string;
  /** null if there is no credential; undefined if the gate does not say */
  facts: z.infer<typeof credentialFacts> | null | undefined;
  /** what the API's document requires, by place */
  suggested: URLSearchParams;
  onChanged(): void;
}

export interface EditedPolicy {
  inForce: Policy;
  /** the edited policy; undefined unless it differs from the one in force */
  draft: string | undefined;
  query: URLSearchParams;
}

/** All sections for admins. */
export const AdminSections = createContext<readonly AdminSection[]>([]);

/** The sections that show something about services and agents. */
export const useSectionsAbout = () =>
  useContext(AdminSections).flatMap(({ path, title = path, About }) => (About ? [{ path, title, About }] : []));

/** The columns that sections add to a list. */
export const useColumnsOf = <Row>(
  idOf: (row: Row) => string,
  ...[list, serviceId]: Parameters<NonNullable<AdminSection['useColumns']>>
): Column<Row>[] =>
  useContext(AdminSections)
    .flatMap(({ useColumns }) => useColumns?.(list, serviceId) ?? [])
    .map(({ cell, sortBy, ...column }) => ({
      ...column,
      cell: (row) => cell(idOf(row)),
      ...(sortBy && { sortBy: (row) => sortBy(idOf(row)) }),
    }));
