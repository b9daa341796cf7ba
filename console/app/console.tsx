import { render } from 'preact';
import { useRef } from 'preact/hooks';
import { Calls } from './calls.tsx';
import { Catalogue } from './catalogue.tsx';
import { Consent } from './consent.tsx';
import { deployment } from './deployment.ts';
import { IntentView } from './intent.tsx';
import { Heading } from './parts.tsx';
import { PolicyView } from './policy.tsx';
import { ReferenceView } from './reference.tsx';
import { linkTo, type Route, useRoute } from './route.ts';
import { finishSignIn, session } from './session.ts';
import { Account, ForAdmins, SignInNotice } from './signed-in.tsx';
import { useStore } from './store.ts';

const places: [title: string, path: string[]][] = [
  ['Catalogue', []],
  ['Policy', ['policy']],
  ['Your calls', ['calls']],
  ['API reference', ['reference']],
];

const adminPlaces: [title: string, path: string[]][] = [
  ['Services', ['services']],
  ['Agents', ['agents']],
  ['History', ['history']],
  ['Usage', ['usage']],
];

const forAdmins = ['import', ...adminPlaces.flatMap(([, path]) => path)];

function Page() {
  const route = useRoute();
  const isAdmin = useStore(session) !== undefined;
  const main = useRef<HTMLElement>(null);
  const [first = ''] = route.path;
  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.querySelector<HTMLElement>('h1')?.focus()}>
        Skip to the content
      </button>
      <header>
        <p class="name">
          <a href={linkTo([])}>Intent Gate</a>
        </p>
        <nav aria-label="Places">
          {[...places, ...(isAdmin ? adminPlaces : [])].map(([title, path]) => (
            <a key={title} href={linkTo(path)} aria-current={(path[0] ?? '') === first ? 'page' : undefined}>
              {title}
            </a>
          ))}
        </nav>
        <Account />
      </header>
      <main ref={main}>
        <SignInNotice />
        <View {...route} />
      </main>
      <footer>
        <p>
          For programs: <a href="openapi.json">OpenAPI document</a>, <a href="agents.json">description for agents</a>.
        </p>
        <p>
          For MCP hosts: <code>{deployment.publicUrl}/mcp</code>
          {deployment.offersSignIn && (
            <>
              , or <code>{deployment.publicUrl}/mcp/sign-in</code> if the host signs people in
            </>
          )}
          .
        </p>
      </footer>
      <Consent />
    </>
  );
}

function View({ path, query }: Route) {
  const [first, second, third] = path;
  if (first === undefined) return <Catalogue query={query} />;
  if (forAdmins.includes(first) || (first === 'intents' && third === 'edit')) return <ForAdmins path={path} query={query} />;
  if (first === 'intents' && second !== undefined) return <IntentView key={second} uid={second} query={query} />;
  if (first === 'policy') return <PolicyView />;
  if (first === 'calls') return <Calls />;
  if (first === 'reference') return <ReferenceView selected={second ?? ''} />;
  return (
    <>
      <Heading title="Not found">There is no such place</Heading>
      <p>
        <a href={linkTo([])}>Go to the catalogue</a>
      </p>
    </>
  );
}

const root = document.getElementById('console');
if (root) {
  await finishSignIn();
  root.replaceChildren();
  render(<Page />, root);
}
