"""A page in a browser."""


async def opened(browser, url, *, width=1280, **options):
    """Open a page; what it complains of and asks for is collected on it."""
    context = await browser.new_context(viewport={"width": width, "height": 900}, **options)
    page = await context.new_page()
    page.complaints, page.asked = [], []
    page.on("console", lambda line: page.complaints.append(line.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url))
    await page.goto(url)
    return page
