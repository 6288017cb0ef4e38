"""Words for the generated catalogue: what products can be, and how sellers and shoppers put it.

Tables of the generator, made up for it. One line an entry, its parts between bars.
"""

from typing import Literal, NamedTuple, cast

Place = Literal["is", "with", "for"]
"""How an attribute stands in a sentence: `an ATTRIBUTE lamp`, `a lamp with ATTRIBUTE`, `a lamp for ATTRIBUTE`."""


class Attribute(NamedTuple):
    """Something that can be true of a product."""

    name: str
    place: Place
    title: str
    """How a title says it."""
    bullets: tuple[str, ...]
    """How a bullet says it; `{it}` stands for the product."""


_ATTRIBUTES = """
is|long lasting|Long Lasting|Long-lasting formula keeps up with you from morning to night;Made to be long lasting, so one {it} does for months
is|cruelty free|Cruelty Free|Always cruelty free and never tested on animals
is|paraben free|Paraben Free|Paraben free and made without mineral oil or dyes;We keep it simple: paraben free, phthalate free, worry free
is|sulfate free|Sulfate-Free|A sulfate free recipe that cleans without stripping
is|fragrance free|Fragrance Free|Fragrance free for those who do not like perfume in everything
is|alcohol free|Alcohol-Free|Alcohol free, so it never stings
is|oil free|Oil Free|Oil free and light, without a greasy feel
is|anti aging|Anti-Aging|Anti aging care that smooths the look of skin in four weeks
is|clinically proven|Clinically Proven|Clinically proven in a study with 62 volunteers
is|dermatologist tested|Dermatologist Tested|Dermatologist tested and gentle enough for every day
is|highly pigmented|Highly Pigmented|Highly pigmented shades that show from the first stroke
is|water resistant|Water Resistant|Water resistant: rain and splashes run right off;Stays put, thanks to a water resistant finish
is|easy apply|Easy to Apply|Easy to apply in a minute, even for beginners
is|easy use|Easy to Use|Easy to use straight out of the box;So easy to use that you will not need the manual
is|easy clean|Easy to Clean|Easy to clean: just wipe it with a damp cloth;Rinse under the tap, that is all. Really easy to clean
is|easy carry|Portable|Easy to carry in a bag, a drawer or a suitcase
is|travel size|Travel Size|Travel size that passes every airport check
is|leak proof|Leak Proof|Leak proof lid: carry it upside down if you like
is|bpa free|BPA Free|Made of bpa free material that is safe with food
is|lead free|Lead-Free|Lead free wick and a clean, even flame
is|non toxic|Non-Toxic|Non toxic and free of harsh smells
is|eco friendly|Eco Friendly|Eco friendly from the material to the box it comes in
is|high quality|High Quality|Made of high quality material that does not lose its shape;High quality you can feel, checked piece by piece
is|double sided|Double Sided|Double sided, so you get two uses from one {it}
is|rechargeable|Rechargeable|Rechargeable battery that lasts about three weeks
is|non slip|Non-Slip|Non slip surface that stays where you put it;A non slip grip keeps your hand steady
is|teeth whitening|Teeth Whitening|Teeth whitening without peroxide in two weeks
with|natural ingredients|Natural Ingredients|Made with natural ingredients that you can pronounce
with|tea tree|Tea Tree|With tea tree, known for its fresh, clean scent
with|coconut oil|Coconut Oil|Enriched with coconut oil pressed from ripe fruit
with|argan oil|Argan Oil|A drop of argan oil gives shine and softness
with|hyaluronic acid|Hyaluronic Acid|Hyaluronic acid holds moisture for a whole day
with|shea butter|Shea Butter|Shea butter from small farms makes it rich and smooth
with|green tea|Green Tea|Green tea extract calms and refreshes
with|aloe vera|Aloe Vera|Cooling aloe vera soothes after a long day
with|stainless steel|Stainless Steel|Stainless steel that neither rusts nor bends;The parts you touch are polished stainless steel
with|long handle|Long Handle|A long handle reaches everywhere without stretching
with|rose gold|Rose Gold|A rose gold finish that looks lovely on the shelf
for|sensitive skin|for Sensitive Skin|Kind to sensitive skin;Developed for sensitive skin that reacts to almost everything
for|dry skin|for Dry Skin|Relief for dry skin that feels tight after washing
for|dead skin|Exfoliating|Lifts away dead skin for a soft touch
for|dry hair|for Dry Hair|Brings dry hair back to life
for|damaged hair|for Damaged Hair|Repairs damaged hair from root to tip
for|hair growth|for Hair Growth|Supports hair growth where it has become thin
for|fine lines|Reduces Fine Lines|Makes fine lines less visible
for|dark circles|for Dark Circles|Brightens dark circles after short nights
for|bad breath|Fresh Breath|Fights bad breath where it begins
for|sensitive teeth|for Sensitive Teeth|Gentle on sensitive teeth and gums
for|nail polish|for Nail Polish|Works with gel and with ordinary nail polish
for|eye shadow|Eye Shadow|Ideal for eye shadow, blended or bold
is|fast charging|Fast Charging|Fast charging: half full in under thirty minutes
is|high speed|High Speed|High speed transfer, with no waiting for large files
is|hands free|Hands-Free|Hands free calls while you drive, cook or work out
is|wireless bluetooth|Wireless Bluetooth|Wireless bluetooth 5.2 pairs in two seconds
is|noise cancelling|Noise Cancelling|Noise cancelling that leaves trains and offices outside
is|heavy duty|Heavy Duty|Heavy duty build for years of daily use;Heavy duty, tested with twice the load
is|high performance|High Performance|High performance chip without fan noise
is|ultra hd|Ultra HD|Ultra hd picture with deep blacks
is|high definition|HD|High definition detail, also in the dark corners
is|gold plated|Gold Plated|Gold plated connectors that do not corrode
is|plug play|Plug and Play|Plug and play: no driver, no app, no account
is|light weight|Lightweight|Light weight, so you forget that you carry it
is|shock proof|Shockproof|Shock proof corners survive a fall from the table
is|compatible apple|Compatible with Apple|Compatible with apple and other common devices
is|batteries included|Batteries Included|Batteries included, ready when you open the box
is|dust proof|Dustproof|Dust proof and sealed all around
with|carrying case|with Carrying Case|Comes with a carrying case that closes firmly
with|usb port|USB Port|An extra usb port charges a second device
with|remote control|with Remote Control|The remote control works from 30 feet away
with|tempered glass|Tempered Glass|Tempered glass, 9H hard and crystal clear
with|aluminum alloy|Aluminum Alloy|An aluminum alloy body that keeps cool
with|stereo sound|Stereo Sound|Rich stereo sound with a clean bass
with|night vision|Night Vision|Night vision shows everything up to 40 feet
with|motion detection|Motion Detection|Motion detection tells you what moves, and when
with|volume control|Volume Control|Volume control right on the cable
with|quick release|Quick Release|A quick release plate for changing in seconds
for|home theater|for Home Theater|Turns the living corner into a home theater
for|video calls|for Video Calls|Made for video calls with friends and colleagues
for|car charger|for Car|Fits every car charger and power outlet
is|machine washable|Machine Washable|Machine washable and quick to dry;Simply machine washable, with no ironing
is|hand wash|Hand Wash|Hand wash cold and hang to dry
is|slim fit|Slim Fit|A slim fit that follows the body without pinching
is|loose fit|Loose Fit|Loose fit for free movement and warm days
is|classic fit|Classic Fit|Classic fit, neither tight nor baggy
is|moisture wicking|Moisture Wicking|Moisture wicking yarn keeps you dry
is|quick drying|Quick Dry|Quick drying after rain, pool or wash
is|fleece lined|Fleece Lined|Fleece lined and warm down to freezing
is|slip resistant|Slip Resistant|Slip resistant tread on wet tiles and wood
is|open toe|Open Toe|Open toe design for summer
is|closed toe|Closed Toe|Closed toe that protects in the yard
is|tummy control|Tummy Control|Tummy control panel for a smooth line
is|water proof|Waterproof|Water proof seams, tried in a week of rain
is|day comfort|All Day Comfort|All day comfort, also when you stand a lot
with|long sleeve|Long Sleeve|Long sleeve with a cuff that stays in place
with|short sleeve|Short Sleeve|Short sleeve cut that leaves room at the arm
with|elastic waist|Elastic Waist|An elastic waist that gives when you sit
with|high waist|High Waist|High waist that does not roll down
with|drawstring closure|Drawstring|Drawstring closure for the right width
with|button closure|Button Down|Button closure with a spare button inside
with|rubber sole|Rubber Sole|A rubber sole that grips and cushions
with|arch support|Arch Support|Arch support that you notice after a long walk
with|memory foam|Memory Foam|Memory foam that remembers your shape
with|ankle strap|Ankle Strap|The ankle strap adjusts in five steps
with|faux fur|Faux Fur|Soft faux fur inside, warm and light
with|polyester spandex|Stretch|Polyester spandex blend: 92% and 8%
with|cotton spandex|Cotton Blend|Cotton spandex that stretches and comes back
for|daily wear|Casual|For daily wear, from the office to the sofa
for|gym workout|Workout|Right for gym workout, running and yoga
for|teen girls|for Teen Girls|Loved by teen girls and their mothers
is|easy assemble|Easy Assembly|Easy to assemble by two people in half an hour
is|easy install|Easy to Install|Easy to install, screws and plugs are in the box
is|height adjustable|Height Adjustable|Height adjustable from low to tall without tools
is|space saving|Space Saving|Space saving: folds flat behind a door
is|mid century|Mid-Century Modern|Mid century lines with tapered legs
is|wall mounted|Wall Mounted|Wall mounted, with a template for drilling
is|fully assembled|Fully Assembled|Arrives fully assembled, just unpack it
is|super soft|Super Soft|Super soft to the touch, wash after wash
is|fade resistant|Fade Resistant|Fade resistant colors, also by a south window
is|energy efficient|Energy Efficient|Energy efficient: costs about a dollar a year
is|high density|High Density|High density filling that does not sag
with|solid wood|Solid Wood|Solid wood with a visible grain, no two alike
with|metal frame|Metal Frame|A sturdy metal frame carries up to 300 lbs
with|storage space|with Storage|Plenty of storage space for what lies around
with|faux leather|Faux Leather|Faux leather that wipes clean
with|glass shade|Glass Shade|A hand blown glass shade spreads warm light
with|bronze finish|Bronze Finish|Bronze finish that goes with old and new
with|adjustable shelves|Adjustable Shelves|Adjustable shelves for books of every size
with|soy wax|Soy Wax|Pure soy wax burns slowly and without soot
for|living room|for Living Room|Made for the living room and big enough for guests;Gives any living room a finished look
for|dining room|for Dining Room|A fine sight in the dining room or kitchen
for|home office|for Home Office|Fits a home office of any size
for|small spaces|for Small Spaces|Thought out for small spaces such as a dorm
is|gluten free|Gluten Free|Certified gluten free, made in a dedicated plant;Naturally gluten free
is|non gmo|Non-GMO|Non gmo project verified
is|dairy free|Dairy-Free|Dairy free, yet creamy
is|plant based|Plant Based|100% plant based, for vegans and everybody else
is|keto friendly|Keto Friendly|Keto friendly with 2 g of net carbs
is|low carb|Low Carb|Low carb snack that keeps you going
is|sugar free|Sugar Free|Sugar free, sweetened with monk fruit
is|low sodium|Low Sodium|Low sodium without losing taste
is|usda organic|USDA Organic|Usda organic from seed to shelf
is|certified organic|Organic|Certified organic by an independent body
is|kosher certified|Kosher|Kosher certified by the Orthodox Union
is|nut free|Nut Free|Nut free kitchen, fit for school lunches
is|caffeine free|Caffeine Free|Caffeine free, so it goes with the evening
is|ready eat|Ready to Eat|Ready to eat, no cooking and no fridge
is|freeze dried|Freeze Dried|Freeze dried within hours after harvest
is|individually wrapped|Individually Wrapped|Individually wrapped for lunch box and handbag
is|old fashioned|Old Fashioned|Old fashioned recipe from 1931
is|chocolate covered|Chocolate Covered|Chocolate covered by hand, in thin layers
with|high protein|High Protein|High protein: 15 grams in every serving
with|dietary fiber|High Fiber|Dietary fiber in every bite, 9 g a serving
with|artificial flavors|No Artificial Flavors|No artificial flavors, colors or preservatives
with|quality ingredients|Quality Ingredients|Quality ingredients and nothing to hide
with|resealable bag|Resealable Bag|The resealable bag keeps everything crisp
with|real fruit|Real Fruit|Made of real fruit, picked ripe
for|gift set|Gift Set|Makes a gift set that is opened at once
for|birthday party|Party|A hit at every birthday party
for|valentine day|Valentine's Day|Say it sweetly on valentine day
"""

ATTRIBUTES = {
    name: Attribute(name, cast(Place, place), title, tuple(bullets.split(";")))
    for place, name, title, bullets in (line.split("|") for line in _ATTRIBUTES.strip().splitlines())
}

BRANDS = ["Velmora", "Nordleaf", "KAIPINE", "Ostrella", "Brightfen", "Tamsin & Co", "LUMOVA", "Harrowby", "Pelikora", "Mirewood", "Juniperly", "ZENTRIK", "Solvane", "Cobalt Creek", "Aurelio Home", "Wrenfield", "DOKARA", "Fennmark", "Marisolle", "Tidewren", "OAKHAVEN", "Quillon", "Besoro", "Lindqvarn", "Sundry Fox", "VOLTEEK", "Plumbright", "Hollisande", "Cascara Lane", "Emberlyn", "NIMBRO", "Rosaveil", "Thornbury", "Yarrowell", "Kestrelle", "Amberjack", "Petalune", "GRANDOR", "Silvanto", "Meadowmere", "Orchidea", "Fjellby", "Copperwick", "Lazuline", "Birchwell", "TREKOVA", "Saffrona", "Mooncove", "Willowmint", "Drakensea"]

STORIES = (
    "{brand} began in a garage with two people and one idea: a {it} that does what it says.",
    "At {brand} every {it} is looked at twice before it leaves the house.",
    "We are a small team, and we answer every message within a day.",
    "Thousands of customers have made this {it} part of their day.",
    "Not happy? Write to us and we find a solution, no questions asked.",
    "A thoughtful present for birthdays, holidays and new homes.",
    "Colors may look slightly different on your screen.",
)
"""What sellers add to a description."""

PRAISE = (
    "{noun}: the {it} we wanted ourselves and could not find",
    "{brand} has made this {it} for people who look twice",
    "simple, pretty, and everything that you expect of a {it}: {noun} by {brand}",
    "you will wonder how you got along without this {it}",
    "{noun} that friends will ask you about",
)

PROMISES = {
    "any": (
        "SATISFACTION GUARANTEED - if anything is wrong with your {it}, we replace it",
        "A great gift for mother, father, friend or colleague",
        "Buy with confidence: {brand} stands behind every {it}",
    ),
    "beauty": (
        "How to use: try a little on the inside of your arm first",
        "Tested by our own families before it goes to yours",
    ),
    "electronics": (
        "What you get: one {it}, our 12-month warranty and friendly customer service",
        "Package includes: 1 x {it}, 1 x user guide",
    ),
    "fashion": (
        "Please check the size chart in the pictures before you order",
        "Designed in our own studio and made by people who are paid fairly",
    ),
    "garden": (
        "Please allow a small difference in size due to manual measurement",
        "What you get: one {it}, all tools and instructions with pictures",
    ),
    "grocery": (
        "Store in a cool and dry place and use within two weeks of opening",
        "Packed fresh every week in small batches",
    ),
}
"""What sellers add as a last bullet, by category."""

HEADINGS = (
    "【{0}】{1}", "{0}: {1}", "★{0}★ {1}", "✔ {0} - {1}", "{1}", "{1}.", "{0} – {1}", "{1} ",
)  # fmt: skip
"""How a bullet (1) is set under its heading (0)."""
