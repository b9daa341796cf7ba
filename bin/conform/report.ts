/** The outcome of one check. */
export interface CheckOutcome {
  id: string;
  /** section of the specification */
  clause: string;
  title: string;
  outcome: 'passed' | 'failed' | 'skipped';
  /** what is wrong, or why the check was skipped */
  notes: string[];
}

export interface Report {
  url: string;
  protocol: string;
  passed: number;
  failed: number;
  skipped: number;
  checks: CheckOutcome[];
  /** what the checks wrote and could not remove */
  left_behind: string[];
}

const count = (checks: CheckOutcome[], wanted: CheckOutcome['outcome']): number =>
  checks.filter(({ outcome }) => outcome === wanted).length;

export const toReport = (url: string, protocol: string, checks: CheckOutcome[], leftBehind: string[]): Report => ({
  url,
  protocol,
  passed: count(checks, 'passed'),
  failed: count(checks, 'failed'),
  skipped: count(checks, 'skipped'),
  checks,
  left_behind: leftBehind,
});
