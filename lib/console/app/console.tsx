import './without-eval.ts';
import { render } from 'preact';
import { useRef } from 'preact/hooks';
import { Calls } from './calls.tsx';
import { Catalogue } from './catalogue.tsx';
import { Consent } from './consent.tsx';
import { IntentView } from './intent.tsx';
import { Heading } from './parts.tsx';
import { PolicyView } from './policy.tsx';
import { linkTo, type Route, useRoute } from './route.ts';

/** The places that everybody can go to. */
const places: [title: string, path: string[]][] = [
  ['Catalogue', []],
  ['Policy', ['policy']],
  ['Your calls', ['calls']],
];

function Page() {
  const route = useRoute();
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
          {places.map(([title, path]) => (
            <a key={title} href={linkTo(path)} aria-current={(path[0] ?? '') === first ? 'page' : undefined}>
              {title}
            </a>
          ))}
        </nav>
      </header>
      <main ref={main}>
        <View {...route} />
      </main>
      <footer>
        <p>
          For programs: <a href="docs">reference</a>, <a href="openapi.json">OpenAPI document</a>,{' '}
          <a href="agents.json">description for agents</a>.
        </p>
      </footer>
      <Consent />
    </>
  );
}

function View({ path, query }: Route) {
  const [first, second] = path;
  if (first === undefined) return <Catalogue query={query} />;
  if (first === 'intents' && second !== undefined) return <IntentView key={second} uid={second} query={query} />;
  if (first === 'policy') return <PolicyView />;
  if (first === 'calls') return <Calls />;
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
  root.replaceChildren();
  render(<Page />, root);
}
