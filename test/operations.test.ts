import { globSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';

const guide = readFileSync('docs/operations.md', 'utf8');
const blocks = (language: string): string[] =>
  [...guide.matchAll(/^```(\w*)\n(.*?)^```$/gms)].filter(([, found]) => found === language).map(([, , text = '']) => text);

test('the role that GitHub deploys with trusts exactly what the workflow presents', () => {
  const [workflow] = blocks('yaml').map((text) => parse(text));
  const trust = blocks('json')
    .filter((text) => text.includes('AssumeRoleWithWebIdentity'))
    .map((text) => JSON.parse(text));
  expect(trust).toHaveLength(1);
  const [statement] = trust[0].Statement;
  const issuer = 'token.actions.githubusercontent.com';
  expect(statement.Principal.Federated).toBe(`arn:aws:iam::<account>:oidc-provider/${issuer}`);
  expect(statement.Condition).toEqual({
    StringEquals: {
      [`${issuer}:aud`]: 'sts.amazonaws.com',
      [`${issuer}:sub`]: `repo:<owner>/<repository>:environment:${workflow.jobs.deploy.environment}`,
    },
  });
  expect(workflow.permissions).toEqual({ 'id-token': 'write', contents: 'read' });
});

test('workflows pin their actions to commit digests', () => {
  const texts = [...blocks('yaml'), ...globSync('.github/workflows/*.yml').map((file) => readFileSync(file, 'utf8'))];
  const used = texts.flatMap((text) => [...text.matchAll(/uses: (\S+)/g)].map(([, action = '']) => action));
  expect(used.length).toBeGreaterThan(0);
  for (const action of used) expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
});
